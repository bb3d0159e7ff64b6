package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// asked, in the environment of a process, says that it is to work on a job.
const asked = "PACER_INTEROP_JOB"

// job is what one process has to do. It is read from standard input.
type job struct {
	Client   string
	URL      string
	Truth    Truth
	Before   int
	Idle     time.Duration
	First    int // how many of the requests other processes have, before this one's
	Requests int
	Callers  int
	Log      bool // pacer's hooks are written to standard error
}

// report is what a process says when it is done.
type report struct {
	Start   time.Time     // of the measured requests
	Longest time.Duration // that one of them took, from being wanted to being admitted
	GaveUp  int           // how often its client returned without being admitted
}

// Work does the job of a process that was started for one, and ends it. In others it
// does nothing. A program that runs cells calls it first.
func Work() {
	if os.Getenv(asked) == "" {
		return
	}
	if err := work(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// work reads a job, says that it is ready, does the job when it is told to, and
// reports. It gives up when in ends, because who has started it has ended then.
func work(in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var j job
	d := json.NewDecoder(in)
	if err := d.Decode(&j); err != nil {
		return err
	}
	w, err := newWorker(j)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode("ready"); err != nil {
		return err
	}
	var start string
	if err := d.Decode(&start); err != nil {
		return err
	}
	go func() {
		defer cancel()
		d.Decode(&start) //nolint:errcheck // that it ends is all there is to know
	}()
	r, err := w.run(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// worker sends the requests of a job.
type worker struct {
	job    job
	client *http.Client
	req    *http.Request
	narrow *http.Request // to the narrow route, or nil

	longest, gaveUp atomic.Int64
}

func newWorker(j job) (*worker, error) {
	i := slices.IndexFunc(Clients(), func(c Client) bool { return c.Name == j.Client })
	if i < 0 {
		return nil, fmt.Errorf("no client %q", j.Client)
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, j.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = j.Callers // a connection for each caller
	w := &worker{job: j, client: &http.Client{Transport: Clients()[i].wrap(base, j)}, req: req}
	if j.Truth.Narrow > 0 {
		w.narrow = req.Clone(req.Context())
		w.narrow.URL = req.URL.JoinPath(narrowPath)
	}
	return w, nil
}

func (w *worker) run(ctx context.Context) (report, error) {
	w.send(ctx, w.job.Before)
	if err := pause(ctx, w.job.Idle); err != nil {
		return report{}, err
	}
	w.longest.Store(0)
	r := report{Start: time.Now()}
	w.send(ctx, w.job.Requests)
	r.Longest, r.GaveUp = time.Duration(w.longest.Load()), int(w.gaveUp.Load())
	return r, context.Cause(ctx)
}

// send has n requests admitted.
func (w *worker) send(ctx context.Context, n int) {
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range w.job.Callers {
		wg.Go(func() {
			for i := taken.Add(1); i <= int64(n); i = taken.Add(1) {
				w.one(w.route(int(i)).Clone(ctx))
			}
		})
	}
	wg.Wait()
}

// route returns the i-th request. Of a server with two routes, each gets requests in proportion to its limit,
// from all processes together.
func (w *worker) route(i int) *http.Request {
	i += w.job.First
	if narrow, all := w.job.Truth.Narrow, int64(w.job.Truth.Narrow)+w.job.Truth.Quota.N; narrow > 0 && int64(i*narrow)/all > int64((i-1)*narrow)/all {
		return w.narrow
	}
	return w.req
}

// one has a request admitted. If the client gives it up, it is sent again a little
// later.
func (w *worker) one(req *http.Request) {
	start, ctx := time.Now(), req.Context()
	for ctx.Err() == nil {
		resp, err := w.client.Do(req.Clone(ctx))
		if err == nil {
			discard(resp)
			if resp.StatusCode/100 == 2 {
				break
			}
		}
		w.gaveUp.Add(1)
		if pause(ctx, 100*time.Millisecond) != nil {
			return
		}
	}
	took := int64(time.Since(start))
	for longest := w.longest.Load(); took > longest && !w.longest.CompareAndSwap(longest, took); {
		longest = w.longest.Load()
	}
}
