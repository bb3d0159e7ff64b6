//go:build unix

package filequota

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/throttle"
)

var _, _ SaveLoader = (*pacer.Transport)(nil), (*throttle.Group)(nil)

// TestLearned: what one program learns, the next one knows: it is not refused.
func TestLearned(t *testing.T) {
	for _, keep := range []bool{false, true} {
		m := newMachine(t)
		synctest.Test(t, func(t *testing.T) {
			server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 10, Window: time.Minute}, pacertest.XRateLimit)
			defer server.Close()
			run := func() {
				shared, err := Open(m.dir, nil)
				if err != nil {
					t.Fatal(err)
				}
				transport := &pacer.Transport{Base: server.Transport()}
				client := &http.Client{Transport: transport}
				if keep {
					if err := shared.Load(t.Context(), transport); err != nil {
						t.Error(err)
					}
				}
				for range 5 {
					resp, err := client.Get("http://api.example.com/")
					if err != nil {
						t.Fatal(err)
					}
					_ = resp.Body.Close()
				}
				if keep {
					if err := shared.Save(t.Context(), transport); err != nil {
						t.Error(err)
					}
				}
			}
			for range 5 {
				run()
			}
			if refused := server.Stats().Refused; keep == (refused > 0) {
				t.Errorf("kept is %v: %d refused", keep, refused)
			}
		})
	}
}

// text is something that keeps what it learned: a word.
type text struct {
	word string
	err  error
}

func (w *text) Save(to io.Writer) error {
	_, err := io.WriteString(to, w.word)
	return errors.Join(err, w.err)
}

func (w *text) Load(from io.Reader) error {
	b, err := io.ReadAll(from)
	if string(b) == "damaged" {
		return errors.New("cannot be read")
	}
	if !strings.Contains(w.word, string(b)) {
		w.word += string(b)
	}
	return err
}

// TestLearnedFile: what others have saved meanwhile stays, an error changes nothing and names the path, and
// what is damaged is replaced.
func TestLearnedFile(t *testing.T) {
	m := newMachine(t)
	s := m.process("a", "1/s even").Store
	path := filepath.Join(m.dir, "learned.json")
	want := func(content string) {
		t.Helper()
		if b, err := os.ReadFile(path); string(b) != content {
			t.Errorf("%q, %v, want %q", b, err, content)
		}
	}
	a, b := &text{word: "a"}, &text{word: "b"}
	if err := errors.Join(s.Load(t.Context(), a), s.Save(t.Context(), a), s.Save(t.Context(), b)); err != nil {
		t.Fatal(err)
	}
	want("ba")
	if err := s.Save(t.Context(), &text{word: "c", err: io.ErrShortWrite}); !errors.Is(err, io.ErrShortWrite) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	want("ba")
	was, err := os.Stat(path)
	if err := errors.Join(err, s.Save(t.Context(), b)); err != nil {
		t.Fatal(err)
	}
	if is, err := os.Stat(path); err != nil || !os.SameFile(was, is) {
		t.Errorf("%v, and the file was written though nothing was learned", err)
	}
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Load(t.Context(), a); err == nil || err.Error() != "filequota: "+path+": cannot be read" {
		t.Errorf("got %v", err)
	}
	if err := os.RemoveAll(m.dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), a); err != nil {
		t.Error(err)
	}
	want("a")
	if st, err := os.Stat(path); err != nil || st.Mode() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
}

// TestLearnedByALaterVersion: what a program with a later version of pacer has saved stays, and who cannot read
// it is told; unlike what is damaged, or of no version.
func TestLearnedByALaterVersion(t *testing.T) {
	m := newMachine(t)
	s := m.process("a", "1/s even").Store
	path := s.learnedPath()
	for content, stays := range map[string]bool{
		`{"version":2,"buckets":{}}`:   true,
		`{"buckets":[],"version":12}`:  true, // of other types
		`{"version":1,"buckets":[]}`:   false,
		`{"version":-1,"buckets":{}}`:  false,
		`{"version":"2","buckets":{}}`: false,
		`{"version":2,"buckets":{`:     false,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		transport := &pacer.Transport{}
		if err := s.Load(t.Context(), transport); err == nil || strings.Contains(err.Error(), "a later version of pacer wrote it") != stays || errors.Is(err, errors.ErrUnsupported) != stays {
			t.Errorf("%s: loaded: %v", content, err)
		}
		err := s.Save(t.Context(), transport)
		got, readErr := os.ReadFile(path)
		if readErr != nil || (string(got) == content) != stays {
			t.Errorf("%s: it is now %s, %v", content, got, readErr)
		}
		if stays && (err == nil || !strings.Contains(err.Error(), path+": throttle: load: version is ") || !strings.Contains(err.Error(), "renew this program") || !errors.Is(err, errors.ErrUnsupported)) || !stays && err != nil {
			t.Errorf("%s: saved: %v", content, err)
		}
	}
}
