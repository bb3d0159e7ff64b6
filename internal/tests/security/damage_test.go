package security

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
)

// snapshot has an instant in each place where Save writes one, all of them of the day on which UntilToday ends,
// for a bucket whose digest stands where DIGEST is.
const snapshot = `{"version":1,"buckets":{"DIGEST":{"held":"2026-11-21T08:05:00Z","rate":2,"former":3,"burst":4,"upNext":"2026-11-21T08:06:00Z","upGap":60000000000,` +
	`"windows":[{"limit":10,"remaining":0,"early":"2026-11-21T08:01:00Z","late":"2026-11-21T08:01:01Z","resolution":1000000000,"span":60000000000}],` +
	`"silent":{"size":10,"least":50000000000,"most":60000000000,"next":"2026-11-21T08:07:00Z","gap":60000000000,"went":[{"at":"2026-11-21T07:59:58Z","n":2}]},` +
	`"used":[{"n":9,"span":7200000000000,"at":"2026-11-21T07:58:00Z","went":[60000000000,1,0,3]}],` +
	`"together":{"counters":{"counters":[{"limit":10,"instances":true,"slots":[{"early":"2026-11-21T08:02:00Z","late":"2026-11-21T08:02:01Z","remaining":1}],"leaves":["e3b0c44298fc1c14"]}]}},` +
	`"at":"2026-11-21T07:59:59Z"}}}`

// TestSnapshotWithADamagedInstant: in a file of Save, one instant has another digit, another year or another
// offset. Load says what is wrong and changes nothing, or takes over the rest: then a request goes, no later
// than a hold and a span allow, and Save writes what Load reads.
func TestSnapshotWithADamagedInstant(t *testing.T) {
	digest := regexp.MustCompile(`"[^"]{10,}":\{`).FindString(string(written(t, "Retry-After", "60")))
	whole := strings.Replace(snapshot, `"DIGEST":{`, digest, 1)
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		tr := &pacer.Transport{Base: lab.OK(), Rand: lab.Zero, MaxStandstill: pacer.Forever}
		start := time.Now()
		if err := tr.Load(strings.NewReader(whole)); err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if took := time.Since(start); took != 5*time.Minute {
			t.Errorf("without damage, the hold lasts for %v, want 5m", took)
		}
	})
	refused, read := 0, 0
	for _, at := range regexp.MustCompile(`"2026-[^"]*"`).FindAllStringIndex(whole, -1) {
		instant := whole[at[0]+1 : at[1]-1]
		all := []string{"", "soon", "-" + instant, "2026-11-21", strings.Replace(instant, "Z", "+99:00", 1)}
		for _, offset := range []string{"Z", "+23:59", "-23:59"} {
			for _, year := range []string{"0000", "0001", "1700", "1969", "2262", "9999"} {
				all = append(all, year+instant[4:len(instant)-1]+offset, year+"-01-01T00:00:00"+offset, year+"-12-31T23:59:59"+offset)
			}
		}
		for i := range instant {
			for digit := '0'; digit <= '9'; digit++ {
				all = append(all, instant[:i]+string(digit)+instant[i+1:])
			}
		}
		for _, other := range all {
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				text := whole[:at[0]+1] + other + whole[at[1]-1:]
				tr := &pacer.Transport{Base: lab.OK(), Rand: lab.Zero, MaxStandstill: pacer.Forever, Quotas: lab.All(quota.MustParse("9/2h")...)}
				if err := tr.Load(strings.NewReader(text)); err != nil {
					if refused++; !strings.Contains(err.Error(), "throttle: load: want what Save wrote: ") || len(err.Error()) > 250 {
						t.Error(err)
					}
					if n := save(t, tr).Len(); n != len(`{"version":1,"buckets":{}}`+"\n") {
						t.Errorf("%q: %d bytes are known of what was refused", other, n)
					}
					return
				}
				read++
				for range 2 {
					start := time.Now()
					resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
					if took := time.Since(start); took > 15*time.Minute+2*time.Second {
						t.Errorf("%q: took %v", other, took)
					}
					again := &pacer.Transport{Base: lab.OK()}
					if err := again.Load(bytes.NewReader(save(t, tr).Bytes())); err != nil {
						t.Errorf("%q: %v", other, err)
					}
					tr.Load(strings.NewReader(text))
				}
			})
		}
	}
	t.Logf("%d files refused, %d read", refused, read)
}
