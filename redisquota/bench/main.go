// Command bench measures what sharing a quota through Redis or a directory costs, and how it compares to what
// else there is. It starts a server of its own, which must be on PATH (redis-server or
// valkey-server).
//
//	go run .            # print the tables
//	go run . -write     # and put them into ../README.md
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota/internal/server"
)

func main() {
	write := flag.Bool("write", false, "put the tables into ../README.md")
	span := flag.Duration("span", 10*time.Second, "how long each run is")
	only := flag.String("only", "", "make this table only: costs, longest, stores or peers")
	flag.Parse()
	if err := run(context.Background(), *write, *span, *only); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, write bool, span time.Duration, only string) error {
	switch {
	case only != "" && !slices.Contains([]string{"costs", "longest", "stores", "peers"}, only):
		return fmt.Errorf("-only is %q, want costs, longest, stores or peers", only)
	case span <= 0:
		return fmt.Errorf("-span is %v, want more than 0", span)
	}
	s, err := server.Real(ctx)
	if err != nil {
		return err
	}
	defer s.Stop()
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer c.Close()
	for _, table := range []struct {
		name string
		make func(io.Writer) error
	}{
		{"costs", func(w io.Writer) error { return costs(ctx, w, c) }},
		{"longest", func(w io.Writer) error { return longest(ctx, w, c) }},
		{"stores", func(w io.Writer) error { return stores(ctx, w, c, span) }},
		{"peers", func(w io.Writer) error { return compare(ctx, w, s.Addr, span) }},
	} {
		if only != "" && only != table.name {
			continue
		}
		var b strings.Builder
		if err := table.make(io.MultiWriter(os.Stdout, &b)); err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout)
		if write {
			if err := insert("../README.md", table.name, b.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// insert puts a table between its marks in a file.
func insert(file, name, table string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks for %s", file, name)
	}
	return os.WriteFile(file, []byte(before+begin+table+end+after), 0o644)
}
