package quota

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedundant(t *testing.T) {
	for _, test := range []struct{ quotas, above, want string }{
		{quotas: ""},
		{quotas: "5/s"},
		{quotas: "5/s, 100/m"},
		{quotas: "5/s burst 2, 100/m burst 3"},
		{quotas: "5/s, no limit"},
		{quotas: "no limit, no limit"},
		{quotas: "5/s burst 10, 100000/h window", want: "100000/h window never binds: 5/s burst 10 admits at most 18010 in 1h0m0s"},
		{quotas: "5/s burst 10, 18010/h window", want: "18010/h window never binds: 5/s burst 10 admits at most 18010 in 1h0m0s"},
		{quotas: "5/s burst 10, 18009/h window"},
		{quotas: "5/s burst 10, 18010/h log as hourly", want: "18010/h log as hourly never binds: 5/s burst 10 admits at most 18010 in 1h0m0s"},
		{quotas: "5/s burst 10, 19810/h sliding 20", want: "19810/h sliding 20 never binds: 5/s burst 10 admits at most 18910 in 1h3m0s, for which one may count"},
		{quotas: "5/s burst 10, 18011/h estimate", want: "18011/h estimate never binds: 5/s burst 10 admits at most 18010 in 1h0m0s"},
		{quotas: "5/s burst 10, 18009/h estimate"},
		// A cell of a plain quota counts for up to a 64th of its span longer, and its last fifth may be spread.
		{quotas: "5/s burst 10, 100000/h", want: "100000/h never binds: 5/s burst 10 admits at most 18295 in 1h0m57s, for which one may count"},
		{quotas: "5/s burst 10, 22868/h"},
		{quotas: "5/s burst 10, 22869/h", want: "22869/h never binds: 5/s burst 10 admits at most 18295 in 1h0m57s, for which one may count"},
		{quotas: "5/s burst 10, 1000/m", want: "1000/m never binds: 5/s burst 10 admits at most 315 in 1m1s, for which one may count"},
		{quotas: "5/s burst 10, 100/s", want: "100/s never binds: 5/s burst 10 admits at most 15 in 1.02s, for which one may count"},
		{quotas: "5/s burst 10, 100000/h burst 10", want: "100000/h burst 10 never binds: 5/s burst 10 admits at most 10 at once, and no more than 5/s from then on"},
		{quotas: "10/s, 5/s", want: "10/s never binds: 5/s admits at most 5 in each window of 1s"},
		{quotas: "100/s, 65/s", want: "100/s never binds: 65/s admits at most 65 in each window of 1s"},
		{quotas: "65/s, 64/s"}, // the one counts cells, the other tokens
		{quotas: "10/s even, 5/s even", want: "10/s even never binds: 5/s even admits at most 1 at once, and no more than 5/s from then on"},
		{quotas: "5/s, 5/s", want: "5/s never binds: 5/s admits the same"},
		{quotas: "5/s as a, 6/s as b, 5/s as c", want: "6/s as b never binds: 5/s as a admits at most 5 in each window of 1s\n" +
			"5/s as c never binds: 5/s as a admits the same"},
		{quotas: "5/s, 300/m"},
		{quotas: "5/s even, 331/m sliding", want: "331/m sliding never binds: 5/s even admits at most 331 in 1m6s, for which one may count"},
		{quotas: "300/m window, 5/s even"},
		{quotas: "300/m window, 5/s", want: "300/m window never binds: 5/s admits at most 300 in 1m0s"},
		{quotas: "5/s burst 2, 7/s"},
		{quotas: "5/s burst 9, 4/s burst 10"},
		{quotas: "5/s log, 5/s burst 5", want: "5/s burst 5 never binds: 5/s log admits at most 5 at once, and no more than 5/s from then on"},
		{quotas: "5/s log, 5/s burst 4"},
		{quotas: "5/s window, 5/s burst 11", want: "5/s burst 11 never binds: 5/s window admits at most 10 at once, and no more than 5/s from then on"},
		{quotas: "5/s window, 5/s burst 10"}, // a request that goes late may be one too many for the bucket
		{quotas: "5/s window, 9/s window", want: "9/s window never binds: 5/s window admits at most 5 in each window of 1s"},
		{quotas: "5/s sliding, 9/s sliding", want: "9/s sliding never binds: 5/s sliding admits at most 5 in each window of 1s"},
		{quotas: "5/s sliding, 9/s sliding 11"},
		{quotas: "5/s sliding, 10/s sliding 11", want: "10/s sliding 11 never binds: 5/s sliding admits at most 10 in 1.1s, for which one may count"},
		{quotas: "5/s window, 9/s log"},
		{quotas: "5/s window, 10/s log", want: "10/s log never binds: 5/s window admits at most 10 in 1s"},
		{quotas: "5/s window, 9/s window grid"},
		{quotas: "5/s log, 5/s window grid", want: "5/s window grid never binds: 5/s log admits at most 5 in 1s"},
		{quotas: "5/s window, 300/m window"},
		{quotas: "5/s window, 305/m window", want: "305/m window never binds: 5/s window admits at most 305 in 1m0s"},
		{quotas: "5/s window grid, 300/m window grid", want: "300/m window grid never binds: 5/s window grid admits at most 300 in each window of 1m0s"},
		{quotas: "5/s estimate, 300/m window grid", want: "300/m window grid never binds: 5/s estimate admits at most 300 in each window of 1m0s"},
		{quotas: "5/7s window grid, 45/m window grid"},
		{quotas: "5/s estimate, 5/s window grid", want: "5/s window grid never binds: 5/s estimate admits at most 5 in each window of 1s"},
		{quotas: "5/s window grid, 5/s estimate", want: "5/s window grid never binds: 5/s estimate admits at most 5 in each window of 1s"},
		{quotas: "5/s warm-up 3s, 50/s window"}, // any cost goes with a warm-up
		{quotas: "5/s, 50/s warm-up 3s"},
		{quotas: "5/s warm-up 3s cold 3, 5/s warm-up 3s", want: "5/s warm-up 3s never binds: 5/s warm-up 3s cold 3 admits the same"},
		{quotas: "5/s debt, 50/s window"},
		{quotas: "5/s debt, 50/s"},
		{quotas: "5/s even, 50/s debt", want: "50/s debt never binds: 5/s even admits at most 1 at once, and no more than 5/s from then on"},
		{quotas: "5/s debt, 50/s debt", want: "50/s debt never binds: 5/s debt admits at most 5 at once, and no more than 5/s from then on"},
		{quotas: "5/s, 50/s queue 10"},
		{quotas: "5/s queue 10, 50/s queue 9"},
		{quotas: "5/s queue 10, 50/s queue 10", want: "50/s queue 10 never binds: 5/s queue 10 admits at most 5 in each window of 1s"},
		{quotas: "10 in flight, 9 in flight", want: "10 in flight never binds: 9 in flight admits at most 9 at a time"},
		{quotas: "10 in flight, 10 unanswered", want: "10 unanswered never binds: 10 in flight admits at most 10 at a time"},
		{quotas: "10 in flight, 9 unanswered"},
		{quotas: "9 unanswered, 10 in flight"},
		{quotas: "9 unanswered, 10 unanswered", want: "10 unanswered never binds: 9 unanswered admits at most 9 at a time"},
		{quotas: "1 in flight, 1000/s window, 1/s even, 1 points unanswered", want: "1000/s window never binds: 1/s even admits at most 2 in 1s"},
		{quotas: "5 tokens/s, 10/s, 10 bytes/s"},
		{quotas: "5 tokens/s even, 10 tokens/s window", want: "10 tokens/s window never binds: 5 tokens/s even admits at most 6 tokens in 1s"},
		{quotas: "1kB/s even, 1MB/h log", want: ""},
		{quotas: "1kB/s burst 1kB, 4MB/h log", want: "4MB/h log never binds: 1kB/s burst 1kB admits at most 3601002B in 1h0m0s"},

		// Streamed bytes are counted at other instants than those that are not.
		{quotas: "1kB/s streamed, 2kB/s streamed", want: "2kB/s streamed never binds: 1kB/s streamed admits at most 50B at once, and no more than 1kB/s from then on"},
		{quotas: "1kB/s burst 200B streamed, 2kB/s streamed"},
		{quotas: "1kB/s streamed, 9MB/h log"},
		{quotas: "1kB/s even, 2kB/s streamed"},

		// What is overall sees the requests of all tenants, each of which has the rest for itself.
		{quotas: "5/s overall, 10/s", want: "10/s never binds: 5/s overall admits at most 5 in each window of 1s"},
		{quotas: "5/s, 10/s overall"},
		{quotas: "5/s, 5/s overall", want: "5/s never binds: 5/s overall admits at most 5 in each window of 1s"},
		{quotas: "5/s overall, 5/s overall", want: "5/s overall never binds: 5/s overall admits the same"},
		{quotas: "65/s overall, 65/s"}, // the cells may begin at other instants
		{quotas: "9/s window overall, 9/s window"},
		{quotas: "9 in flight overall, 9 in flight", want: "9 in flight never binds: 9 in flight overall admits at most 9 at a time"},
		{quotas: "9 in flight, 10 in flight overall"},
		{quotas: "9 in flight", above: "9 in flight overall", want: "9 in flight never binds: 9 in flight overall above admits at most 9 at a time"},

		// A bucket above sees more requests.
		{quotas: "10/s", above: "5/s", want: "10/s never binds: 5/s above admits at most 5 in each window of 1s"},
		{quotas: "10/s even", above: "5/s even", want: "10/s even never binds: 5/s even above admits at most 1 at once, and no more than 5/s from then on"},
		{quotas: "65/s", above: "65/s"}, // the cells may begin at other instants
		{quotas: "5/s", above: "10/s"},
		{quotas: "5/s", above: "5/s", want: "5/s never binds: 5/s above admits at most 5 in each window of 1s"},
		{quotas: "9/s window", above: "5/s window"},
		{quotas: "10/s window", above: "5/s window", want: "10/s window never binds: 5/s window above admits at most 10 in 1s"},
		{quotas: "5/s sliding", above: "5/s sliding"},
		{quotas: "5/s log", above: "5/s log", want: "5/s log never binds: 5/s log above admits at most 5 in 1s"},
		{quotas: "5/s estimate, 5/s window grid", above: "5/s estimate", want: "5/s estimate never binds: 5/s estimate above admits at most 5 in each window of 1s\n" +
			"5/s window grid never binds: 5/s estimate admits at most 5 in each window of 1s"},
		{quotas: "5/s warm-up 1s", above: "5/s warm-up 1s"},
		{quotas: "9 in flight, 9 points in flight", above: "9 in flight", want: "9 in flight never binds: 9 in flight above admits at most 9 at a time"},
	} {
		qs, above := parsed(t, test.quotas), parsed(t, test.above)
		var got []string
		why := qs.Redundant(above...)
		if why != nil && len(why) != len(qs) {
			t.Fatalf("%q: %d elements for %d quotas", test.quotas, len(why), len(qs))
		}
		for i, sentence := range why {
			if sentence == "" {
				continue
			}
			got = append(got, sentence)
			never, reason, _ := strings.Cut(sentence, " never binds: ")
			if never != qs[i:i+1].String() {
				t.Errorf("%q: element %d is of %q, want %q", test.quotas, i, never, qs[i:i+1])
			}
			by, _, _ := strings.Cut(reason, " admits ")
			from := qs
			if text, ok := strings.CutSuffix(by, " above"); ok {
				by, from = text, above
			}
			if !slices.ContainsFunc(from, func(q Quota) bool { return by == Quotas{q}.String() }) {
				t.Errorf("%q: %s is not among %v", test.quotas, by, from)
			}
		}
		if got == nil && why != nil {
			t.Errorf("%q: got %q, want nil", test.quotas, why)
		}
		if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%q above %q (-want +got):\n%s", test.above, test.quotas, diff)
		}
	}
	if found := (Quotas{{N: 5}, {N: 10, Per: -1}, {N: -1}}).Redundant(Quota{N: -3}); found != nil {
		t.Errorf("found %v, want nothing that is invalid", found)
	}
}

func parsed(t *testing.T, text string) Quotas {
	t.Helper()
	qs, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return qs
}
