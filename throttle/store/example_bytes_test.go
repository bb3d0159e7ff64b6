package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// kept is a Store that keeps each bucket as bytes, as in a row of a database: it locks the row, reads it,
// and writes it. Its clock is one that all processes read, such as that of the database.
type kept struct {
	start time.Time // of the clock

	mu   sync.Mutex // protects rows
	rows map[string][]byte
}

// Exchange implements store.Store.
func (k *kept) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	ledger := store.Ledger{Epoch: k.start}
	if row, ok := k.rows[r.Bucket]; ok {
		if err := ledger.UnmarshalBinary(row); err != nil {
			return nil, err
		}
	}
	reply, _, err := ledger.Exchange(time.Since(k.start), r) // whose error says which Version it knows
	if err != nil {
		return nil, err
	}
	k.rows[r.Bucket], err = ledger.MarshalBinary()
	return reply, err
}

// Listen implements store.Store. There are no news; Limiters hear with their next request.
func (k *kept) Listen(string, func(store.News)) (stop func(), err error) {
	return nil, errors.ErrUnsupported
}

// A Store that keeps Ledgers as bytes. Two Limiters share what it grants.
func Example() {
	k := &kept{start: time.Now(), rows: map[string][]byte{}}
	quotas := quota.MustParse("3/m log")
	a := &throttle.Limiter{Name: "api.example.com", Quotas: quotas, Shared: throttle.Shared{Store: k}}
	b := &throttle.Limiter{Name: "api.example.com", Quotas: quotas, Shared: throttle.Shared{Store: k}, MaxWait: time.Second}
	defer a.Close()
	defer b.Close()

	ctx := context.Background()
	fmt.Println(a.Wait(ctx, 2))
	fmt.Println(b.Wait(ctx, 1))
	fmt.Println("the fourth one is refused:", b.Wait(ctx, 1) != nil)
	// Output:
	// <nil>
	// <nil>
	// the fourth one is refused: true
}

// A bucket of a store answers requests, at instants that it is told.
func ExampleLedger() {
	var ledger store.Ledger
	ask := &store.Request{
		Version: store.Version, Bucket: "api", Quotas: quota.MustParse("10/s burst 5").Explicit(),
		SlotLife: 100 * time.Millisecond, Horizon: 500 * time.Millisecond, Member: "a", Serial: 1,
		Asks: []store.Ask{{Cost: []int64{1}, Count: 5, Within: -1}},
	}
	reply, _, err := ledger.Exchange(0, ask)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, slot := range reply.Slots {
		fmt.Printf("%d in %v\n", slot.Count, slot.In)
	}

	ask.Version = 99
	_, _, err = ledger.Exchange(time.Second, ask)
	fmt.Println(err)
	// Output:
	// 4 in 0s
	// 1 in 100ms
	// store: bucket "api": Version is 99, want 1
}
