// Redisquota shows to people what processes share through Redis or Valkey, and ends a hold or a debt of theirs.
//
//	go run github.com/gopacer/pacer/redisquota/cmd/redisquota ls
//	go run github.com/gopacer/pacer/redisquota/cmd/redisquota -addr rediss://user:password@redis.example.com:6380 show api.example.com
//	go run github.com/gopacer/pacer/redisquota/cmd/redisquota release api.example.com
//
// Ls lists the buckets, each with its quotas, how many processes use it, for how long it is held, and how long
// its debt is. Show explains one in plain words. Both change nothing. Release ends what keeps a bucket from
// going: see store.Request.Release. Those who wait hear of it at once.
//
// The address is that of a node, or a URL: redis://user:password@host:6379/0, rediss:// with TLS, or unix://.
// If there is no -addr, it is what REDIS_URL says, or localhost:6379. Neither the password nor what a Key
// returned is ever printed: of that, the server has a digest.
//
// It exits with 1 if something failed, with 2 if it was called wrongly, and with 3 if there is no such bucket.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

// What the program exits with.
const (
	failed   = 1
	misused  = 2
	noBucket = 3
)

var errNoBucket = errors.New("no such bucket")

const usage = `usage: redisquota [flags] ls | show BUCKET | release BUCKET

`

// run is the program.
func run(ctx context.Context, args []string, out, errs io.Writer) (exit int) {
	flags := flag.NewFlagSet("redisquota", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() {
		fmt.Fprint(errs, usage)
		flags.PrintDefaults()
	}
	addr := flags.String("addr", cmp.Or(os.Getenv("REDIS_URL"), "localhost:6379"), "where the `server` is: host:port, or a URL that begins with redis://, rediss:// or unix://; unless set, what REDIS_URL says, or localhost:6379")
	flags.Lookup("addr").DefValue = "" // it may have a password
	cluster := flags.Bool("cluster", false, "the server is a node of a cluster")
	prefix := flags.String("prefix", "pacer", "the `Prefix` of the stores")
	asJSON := flags.Bool("json", false, "write JSON")
	within := flags.Duration("timeout", 5*time.Second, "how long to wait for the server")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return misused
	}
	command, bucket := flags.Arg(0), flags.Arg(1)
	want := map[string]int{"ls": 1, "show": 2, "release": 2}[command]
	if want == 0 || flags.NArg() != want {
		got := ""
		if flags.NArg() > 0 {
			got = fmt.Sprintf("%q: ", strings.Join(flags.Args(), " "))
		}
		fmt.Fprintf(errs, "redisquota: %swant ls, show BUCKET or release BUCKET, and flags before that\n", got)
		flags.Usage()
		return misused
	}
	client, err := connect(*addr, *cluster)
	if err != nil {
		fmt.Fprintln(errs, "redisquota:", err)
		return misused
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, *within)
	defer cancel()
	s := open(client, *prefix)
	p := printer{out: out, json: *asJSON}
	switch command {
	case "ls":
		err = s.list(ctx, &p)
	case "show":
		err = s.show(ctx, &p, bucket)
	case "release":
		err = s.release(ctx, &p, bucket)
	}
	switch {
	case errors.Is(err, errNoBucket):
		fmt.Fprintf(errs, "redisquota: %s: no such bucket under the prefix %q; ls lists them\n", printable(bucket), *prefix)
		return noBucket
	case err != nil:
		fmt.Fprintln(errs, "redisquota:", strings.TrimPrefix(err.Error(), "redisquota: "))
		return failed
	}
	return 0
}

// connect returns a client. Its error does not have what was given, which may have a password.
func connect(addr string, cluster bool) (redis.UniversalClient, error) {
	const want = "want host:port, or a URL such as redis://user:password@host:6379/0, rediss://host:6380 or unix:///run/redis.sock"
	if !strings.Contains(addr, "://") {
		addr = "redis://" + addr
	}
	if cluster {
		o, err := redis.ParseClusterURL(addr)
		if err != nil {
			return nil, errors.New("-addr is not the address of a server: " + want)
		}
		return redis.NewClusterClient(o), nil
	}
	o, err := redis.ParseURL(addr)
	if err != nil {
		return nil, errors.New("-addr is not the address of a server: " + want)
	}
	o.MaxRetries = -1 // a person tries again
	return redis.NewClient(o), nil
}
