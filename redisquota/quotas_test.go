package redisquota_test

import (
	"testing"

	"github.com/gopacer/pacer/quota"
)

// parse returns the quotas of a text as a Limiter sends them to a Store.
func parse(t *testing.T, text string) quota.Quotas {
	t.Helper()
	quotas, err := quota.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	quotas = quotas.Explicit()
	for i := range quotas {
		quotas[i].Name = ""
	}
	return quotas
}

// kinds are quotas of every kind, alone and stacked.
var kinds = []string{
	"20/s even",
	"50/s burst 10",
	"100 tokens/s burst 8 debt",
	"20/s log",
	"20/s window",
	"40/s sliding 4",
	"20/s window grid",
	"20/s estimate",
	"50/s burst 5, 20/2s log, 300/m sliding",
	"10/500ms burst 4, 30/s window grid, 40/2s estimate",
	"10/s burst 6, 20/3s log",
	"10/s estimate, 20/4s window grid",
	"20/s burst 20, 32/4s estimate",
	"100/s burst 3, 4/s window grid, 20/2s sliding 5",
	"4/s burst 8",
	"5/s burst 6 debt, 10/2s log",
	"200/s burst 9",
	"400/s burst 20 debt",
}
