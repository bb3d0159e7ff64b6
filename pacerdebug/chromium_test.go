package pacerdebug_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// browser is a Chromium that is told what to do over a pipe, in the DevTools protocol.
type browser struct {
	t   *testing.T
	cmd *exec.Cmd
	to  *os.File

	mu      sync.Mutex // protects the fields below
	last    int
	answers map[int]chan message
	tabs    map[string]*tab // by session
}

type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     json.RawMessage `json:"error,omitempty"`
}

// tab is a page in a browser.
type tab struct {
	b        *browser
	t        *testing.T
	session  string
	problems []string // what its console says
	requests []string // URLs that it has asked for
}

// startBrowser starts a Chromium until the test ends. It skips the test if there is none.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" || testing.Short() {
		t.Skip("no chromium in PATH, or -short")
	}
	toRead, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, fromWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "pacerdebug") //nolint:usetesting // a process of Chromium may still write while a TempDir is removed
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, to: to, answers: map[int]chan message{}, tabs: map[string]*tab{}}
	b.cmd = exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-extensions", "--user-data-dir="+dir,
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
	b.cmd.ExtraFiles = []*os.File{toRead, fromWrite}
	if err := b.cmd.Start(); err != nil {
		t.Skip("chromium does not start: ", err)
	}
	toRead.Close()
	fromWrite.Close()
	read := make(chan struct{})
	go func() { defer close(read); b.read(bufio.NewReader(from)) }()
	limit := time.AfterFunc(time.Minute, func() { b.cmd.Process.Kill() })
	t.Cleanup(func() {
		b.send(&message{Method: "Browser.close"})
		<-read
		b.cmd.Wait()
		if !limit.Stop() {
			t.Error("chromium was stopped after a minute")
		}
		to.Close()
		from.Close()
		os.RemoveAll(dir)
	})
	return b
}

// read reads answers and events until Chromium ends.
func (b *browser) read(r *bufio.Reader) {
	for {
		text, err := r.ReadBytes(0)
		b.mu.Lock()
		if err != nil {
			for _, c := range b.answers {
				close(c)
			}
			b.answers = nil
			b.mu.Unlock()
			return
		}
		var m message
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			b.t.Error(err)
		} else if m.ID > 0 {
			b.answers[m.ID] <- m
			delete(b.answers, m.ID)
		} else if tab := b.tabs[m.SessionID]; tab != nil {
			tab.heard(m)
		}
		b.mu.Unlock()
	}
}

func (b *browser) send(m *message) chan message {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	m.ID = b.last
	answer := make(chan message, 1)
	if b.answers == nil {
		close(answer)
		return answer
	}
	b.answers[m.ID] = answer
	text, err := json.Marshal(m)
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	if err != nil {
		b.t.Error(err)
	}
	return answer
}

// call calls a method, and decodes its result unless result is nil.
func (b *browser) call(t *testing.T, session, method string, params map[string]any, result any) {
	t.Helper()
	text, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	m, ok := <-b.send(&message{SessionID: session, Method: method, Params: text})
	if !ok || m.Error != nil {
		t.Fatalf("%s: %s", method, m.Error)
	}
	if result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			t.Fatal(err)
		}
	}
}

// open opens a URL in a new tab.
func (b *browser) open(t *testing.T, url string, width, height int, scheme string) *tab {
	t.Helper()
	var target struct{ TargetID string }
	b.call(t, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call(t, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	t.Cleanup(func() { b.call(t, "", "Target.closeTarget", map[string]any{"targetId": target.TargetID}, nil) })
	p := &tab{b: b, t: t, session: attached.SessionID}
	b.mu.Lock()
	b.tabs[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Runtime", "Log", "Network", "Page", "Accessibility"} {
		p.call(domain+".enable", nil, nil)
	}
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}, nil)
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	p.call("Page.navigate", map[string]any{"url": url}, nil)
	return p
}

func (p *tab) call(method string, params map[string]any, result any) {
	p.t.Helper()
	p.b.call(p.t, p.session, method, params, result)
}

// heard notes an event. It requires that b.mu is held.
func (p *tab) heard(m message) {
	var e struct {
		Type    string
		Args    json.RawMessage
		Entry   struct{ Level, Text, URL string }
		Request struct{ URL string }
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return
	}
	switch m.Method {
	case "Runtime.exceptionThrown":
		p.problems = append(p.problems, string(m.Params))
	case "Runtime.consoleAPICalled":
		p.problems = append(p.problems, e.Type+string(e.Args))
	case "Log.entryAdded":
		p.problems = append(p.problems, e.Entry.Level+": "+e.Entry.Text+" "+e.Entry.URL)
	case "Network.requestWillBeSent":
		p.requests = append(p.requests, e.Request.URL)
	}
}

// eval evaluates an expression, and decodes its value unless value is nil.
func (p *tab) eval(expression string, value any) {
	p.t.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	p.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &got)
	if got.ExceptionDetails != nil {
		p.t.Fatalf("%s: %s", expression, got.ExceptionDetails)
	}
	if value != nil {
		if err := json.Unmarshal(got.Result.Value, value); err != nil {
			p.t.Fatalf("%s: %v", expression, err)
		}
	}
}

// text returns what an expression is as a text.
func (p *tab) text(expression string) (text string) {
	p.t.Helper()
	p.eval("String("+expression+")", &text)
	return text
}

// until waits until a condition of the page holds, looking each time that something in the page has changed.
func (p *tab) until(condition string) {
	p.t.Helper()
	var held bool
	p.eval(fmt.Sprintf(`new Promise((done) => {
		const holds = () => { try { return %s; } catch { return false; } };
		const look = () => { if (holds()) { watch.disconnect(); clearTimeout(timer); done(true); } };
		const watch = new MutationObserver(look);
		const timer = setTimeout(() => done(false), 15000);
		watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
		look();
	})`, condition), &held)
	if !held {
		p.t.Fatalf("not so: %s; the page says:\n%s", condition, p.text("document.body.innerText"))
	}
}

// press presses a key.
func (p *tab) press(key string, code int) {
	p.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
		if key == "Enter" && kind == "keyDown" {
			maps.Copy(params, map[string]any{"text": "\r"})
		}
		p.call("Input.dispatchKeyEvent", params, nil)
	}
}

// picture writes a picture of the whole page to a file, if a directory is given.
func (p *tab) picture(name string) {
	p.t.Helper()
	if *pictures == "" {
		return
	}
	var got struct{ Data string }
	p.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": false}, &got)
	png, err := base64.StdEncoding.DecodeString(got.Data)
	if err == nil {
		err = os.WriteFile(*pictures+"/"+name+".png", png, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// clean checks that the console says nothing, and that all requests went to the server of the page.
func (p *tab) clean(base string) {
	p.t.Helper()
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	for _, problem := range p.problems {
		p.t.Error("console: ", problem)
	}
	if len(p.requests) < 4 {
		p.t.Errorf("requests: %q, want the page, its style, its script and its events at least", p.requests)
	}
	for _, url := range p.requests {
		if !strings.HasPrefix(url, base) {
			p.t.Errorf("it asked for %s", url)
		}
	}
}
