package throttle

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/readable"
)

// Outage is what a Limiter does while its Store cannot be reached, once the slots in hand are used up or too old.
type Outage int

const (
	// OutageShare goes on with a safe part. While m of n processes have lost the store, up to m/n of the quota goes beyond it.
	// It is safe if all have lost it, for the n processes that have used the store within the last minute. The others do not
	// count a process that asked it for nothing in that minute: of k such, each may add its own part, k/(n+1) of the quota
	// together.
	//
	// The part is 9/10 of the quota's rate and Burst, divided by the number of processes: as many as the store's last reply
	// counted, or its news since, by which idle processes hear of new ones (512 at most with store.Memory and filequota). A Burst
	// below that number cannot be divided: all processes may send one token at the same instant. The part begins Late after the
	// last slot that any process may have in hand: it takes those of others for as much farther ahead than the last reply said as it is old,
	// up to twice as far. While claims wait for slots that are more than four seconds ahead, the store is asked how far, each quarter
	// of that. They may be farther: slots of a window that was just used up, which then is over by a few; and the end of a Debt that another process made
	// since, or makes because it reaches the store and this one does not. The part goes while that is paid.
	//
	// Of a window, a process uses no more than it used before, and its part of what was left. A window after the part began, when what
	// others used has left, it uses its part of N. Of a window of the clock, it uses no more than its part of what was left until then, also
	// if the next window of the clock has begun: clocks are not compared. What was left is what the last reply said, less what others used
	// since at the whole rate: nothing of a window that was used up. Of a window of up to four seconds it is nothing, where others share it: they may
	// have used it at once. If they did so of a longer one, and this process did not ask since, the part of that goes beyond; and of any window, the few
	// slots ahead that others then got. After new processes came, nothing counts as left.
	//
	// An EstimatedWindow also counts the window before. For twice the window a process uses its part of what was left, which is
	// nothing if all went on at the whole rate, and then up to a quarter of its part of N at once, and three quarters in each Per.
	//
	// While two versions of a program are about (see StoreEvent.Others), the part is of the tighter numbers. Of a quota that only the
	// others have, it goes evenly: of a window, from a window after the part began, of an EstimatedWindow from two.
	//
	// A claim that costs more than the part waits for the store, for as long as its deadline and MaxWait allow, and what is behind it in line waits,
	// too. A Debt admits it only if no other process shares the bucket; what is owed is charged when the store is back. If the store was never reached, the number of processes is not
	// known, and OutageShare is the same as OutageClosed.
	//
	// When the store is back, it is told what went before it hands out anything: in the half second after the first call. Who calls
	// first may know of no outage, since it is new, or slept; and the store cannot tell an outage from a time in which all slept.
	// So after half a second in which nobody asked for anything, whoever asks, whatever its Outage is, gets no more in the next half
	// second than what the parts of the others with OutageShare leave: of 100 that are left, 55 if two share it. To a process
	// that is new they leave a tenth, and one token at least: of 20 its third request waits, of 9 its second. The rest
	// waits, whenever a burst comes after such a time: for an eighth of a second where the store has news, since the others hear of it, and say that
	// they sent nothing; for so long if one of them cannot. The first request does not, if the window was not used up in its last Per, or the bucket
	// has a token for each process, unless somebody was told to wait for so long and nobody has asked since. That does not help against a process that tells
	// later than that, since it was stopped, or reaches the store later than others; nor where slots are ahead: while claims wait for these, nobody
	// need ask, so that it is no such time until the last slot, though there may have been an outage.
	OutageShare Outage = iota

	// OutageClosed lets nothing go. Claims wait until the store is back, or until their own bounds. Bursts after idling are cut in two only
	// beside processes with OutageShare.
	OutageClosed

	// OutageOpen lets every claim go that nothing else delays. When the store is back, it is told what went; for that, a bucket of tokens is
	// empty at the most, so that debts ([quota.Quota.Debt]) made meanwhile are forgotten.
	OutageOpen
)

// String returns the name of the constant without the type, in lower case: "share".
func (o Outage) String() string { return readable.Name("Outage", int(o), "share", "closed", "open") }

// StoreEvent is something that happened to the link between a Limiter and its Store.
type StoreEvent struct {
	// Bucket and Label are those of the Limiter.
	Bucket, Label string

	// Err is why the store cannot be reached, once for each outage; or that round trips take too long, once in
	// ten seconds at most, which is no outage. It is nil in other events.
	Err error

	// Down is how long the outage was, when the store can be reached again; else zero.
	Down time.Duration

	// Lost says that the store has lost what it knew of the bucket. A store that cannot tell a bucket that was
	// lost from one that is new, such as Redis, says so of a new one, too, unless Limiter.New says that it is.
	Lost bool

	// Others are other quotas by which another process shares the bucket, once for each list: two versions of a program are
	// about. All quotas of both hold until ten seconds after one of them asked last, and in an outage until it ends, if all asked
	// until it began; what is the same quota in both, by the tighter numbers.
	Others quota.Quotas
}

// StoreState is a snapshot of the link between a bucket and its Store.
type StoreState struct {
	Members   int           // processes that share the bucket, as far as known; zero if the store was never reached
	Ahead     time.Duration // from now to the last slot that the store handed out to any process
	Down      time.Duration // how long the store has been out of reach; zero if it can be reached
	Err       error         // why it cannot be reached, or why its slots are of no use; nil if all is well
	RoundTrip time.Duration // of the last call; zero before the first

	Calls  int // of the store, so far
	Got    int // tokens that the store handed out to this process, so far
	Wasted int // tokens of Got that were not used in time
	Hand   int // tokens in hand
}
