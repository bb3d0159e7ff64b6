package bench

import (
	"testing"
	"testing/synctest"
	"time"
)

func BenchmarkGet(b *testing.B) {
	for _, s := range Subjects() {
		b.Run(s.Name+"/"+s.Answer.String(), func(b *testing.B) { Get(b, s.New()) })
	}
}

func BenchmarkPost(b *testing.B) {
	for _, s := range Subjects() {
		b.Run(s.Name+"/"+s.Answer.String(), func(b *testing.B) { Post(b, s.New()) })
	}
}

func BenchmarkGetParallel(b *testing.B) {
	for _, s := range []Subject{
		{Bare, Plain, bare, 0},
		{XTime, Plain, newXTime, 0},
		{"pacer", Plain, newPacer, 0},
		{"pacer", Epoch, newPacer, 0},
	} {
		b.Run(s.Name+"/"+s.Answer.String(), func(b *testing.B) {
			b.ReportAllocs()
			rt := s.New()
			newGet().warm(b, rt)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				c := newGet()
				for pb.Next() {
					if err := c.call(rt); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

func BenchmarkGrant(b *testing.B) {
	for _, d := range Decisions() {
		b.Run(d.Name, d.Run)
	}
}

func BenchmarkGrantParallel(b *testing.B) {
	for _, d := range Decisions() {
		b.Run(d.Name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := d.Grant(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

func TestGrantAllocatesNothing(t *testing.T) {
	for _, d := range Decisions() {
		t.Run(d.Name, func(t *testing.T) {
			got := testing.AllocsPerRun(1000, func() {
				if err := d.Grant(); err != nil {
					t.Fatal(err)
				}
			})
			if got != 0 {
				t.Errorf("%v allocations, want 0", got)
			}
		})
	}
}

// Only the base allocates, however fast answers come.
func TestPacerAllocatesNothing(t *testing.T) {
	for _, s := range []Subject{
		{"nothing configured", Plain, newPacer, 0},
		{"nothing configured", Usual, newPacer, 0},
		{"a quota", Plain, newPacerQuota, 0},
		{"not full again", Plain, newPacerVast, 0},
		{"epoch", Epoch, newPacer, 0},
		{"delta", Delta, newPacer, 0},
		{"countdown", Countdown, newPacer, 0},
		{"a fresh map", Fresh, newPacer, 0},
		{"GitHub", GitHub, newPacer, 0},
		{"draft 7", Draft7, newPacer, 0},
		{"draft 8", Draft8, newPacer, 0},
		{"OpenAI", OpenAI, newPacer, 0},
		{"unknown names", Unknown, newPacer, 0},
	} {
		for name, c := range map[string]*caller{"GET": newGet(), "POST": newPost()} {
			t.Run(s.Name+"/"+s.Answer.String()+"/"+name, func(t *testing.T) {
				rt, base := s.New(), NewBase(s.Answer)
				c.warm(t, rt)
				call := func() {
					if err := c.call(rt); err != nil {
						t.Fatal(err)
					}
				}
				got := testing.AllocsPerRun(1000, call)
				rt = base
				if want := testing.AllocsPerRun(1000, call); got != want {
					t.Errorf("%v allocations, want the base's %v", got, want)
				}
			})
			t.Run(s.Name+"/"+s.Answer.String()+"/"+name+" each 20 ms", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					rt, base := s.New(), NewBase(s.Answer)
					call := func() {
						if err := c.call(rt); err != nil {
							t.Fatal(err)
						}
						time.Sleep(20 * time.Millisecond)
					}
					for range 100 {
						call()
					}
					got := testing.AllocsPerRun(100, call)
					rt = base
					if want := testing.AllocsPerRun(100, call); got != want {
						t.Errorf("%v allocations, want the base's %v", got, want)
					}
				})
			})
		}
	}
}

// Every subject must really answer. Otherwise its figure would be that of a failure.
func TestSubjectsAnswer(t *testing.T) {
	for _, s := range Subjects() {
		rt := s.New()
		for _, c := range []*caller{newGet(), newPost()} {
			for range 3 {
				if err := c.call(rt); err != nil {
					t.Errorf("%s: %v", s.Name, err)
				}
			}
		}
	}
}
