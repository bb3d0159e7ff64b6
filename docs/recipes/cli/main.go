// The program is a command that is run again and again, by hand or by cron. It keeps what it learned from one
// run to the next, in a file, and what it has used of the 1000 a day that no header states. Without that, each
// run would begin as if the limits of the API were unused, and be refused. Where several machines run it, a
// Store has the day's quota for all of them.
//
// As it stands, the program talks to a fake; main says how to take that out. It prints
//
//	12 items read
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

func main() {
	api := newFake(2 * time.Second) // for a real API, leave out the fake: run gets http.DefaultTransport in place of api.Transport()
	cache, err := os.UserCacheDir() // ~/.cache; what is lost here is learned again
	if err == nil {
		err = run(context.Background(), os.Stdout, api.Transport(), filepath.Join(cache, "pacer-recipe", "limits.json"), nil)
	}
	var early *throttle.Error
	switch {
	case errors.As(err, &early): // the server said when, in this run or in an earlier one
		fmt.Fprintf(os.Stderr, "the limit is used up, come back in %v\n", early.Wait.Round(time.Second))
		os.Exit(75) // EX_TEMPFAIL of sysexits.h: try again later
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// daily is what the API's documentation grants. Windows of the calendar, such as "1000/d window grid in
// America/Los_Angeles", live in the file alone.
const daily = "1000/d window grid"

// run keeps what has been used in the file; if shared is not nil, in that: filequota.Open for runs on one
// machine, also at the same time, or goredis.New of redisquota for several machines.
func run(ctx context.Context, out io.Writer, base http.RoundTripper, file string, shared store.Store) (err error) {
	// Nobody waits at a prompt for an hour: if nothing can go within ten seconds, the command ends and says so.
	transport := &pacer.Transport{
		Base:          base,
		MaxStandstill: 10 * time.Second,
		Quotas:        pacer.Table{"api.example.com/": quota.MustParse(daily)},
		Shared:        pacer.Shared{Store: shared},
		// What the server grants is used at once. By default, the last fifth of a limit whose reset is further
		// away than MaxStandstill is spread over the time until then.
		Learn: pacer.Learn{Spend: throttle.SpendEager},
	}
	if err := load(transport, file); err != nil {
		fmt.Fprintln(os.Stderr, err) // a file that cannot be read is no reason not to go on
	}
	defer func() { err = errors.Join(err, save(transport, file), transport.Close()) }() // after a failure, too: that is what was learned
	client := &http.Client{Transport: transport}

	for n := range 12 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://api.example.com/items/%d", n), nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
	}
	_, err = fmt.Fprintln(out, "12 items read")
	return err
}

// load reads what the last run has learned, before the first request. What is out of date is left out.
func load(transport *pacer.Transport, file string) error {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the first run
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return transport.Load(f)
}

// save replaces the file in one step: another run that reads it now gets the old or the new one, and never a
// half.
func save(transport *pacer.Transport, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)) // beside it, since a rename cannot cross file systems
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // of no effect after the rename
	if err := errors.Join(transport.Save(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
