package store

import (
	"context"
	"time"

	"github.com/gopacer/pacer/quota"
)

// Store is where the quotas of a bucket live when several processes share them: Redis (module redisquota), a
// directory (module filequota), or, within one process, a [Memory].
//
// A store hands out slots. A slot is the right to send requests of a certain cost at an instant, or up
// to [Request.SlotLife] after it. All slots of a bucket belong to one schedule. A Limiter asks for the slots
// of all claims that wait in one call, and has one call under way at most; each claim sleeps
// until its slot. The store hands out slots such that every quota holds, however many processes
// send, and whatever part of the slots they use.
//
// Clocks are not compared. Only durations cross the interface, and both sides measure them
// by a clock that does not jump. For each slot, a reply has the time d from the making of the reply to
// the slot. The Limiter uses the slot d after it has received the reply, at the earliest, and d + SlotLife
// after it sent the request, at the latest. So SlotLife must be longer than a round trip. It is that of the
// request, or of a later request of the Limiter if that is shorter.
//
// For those who write a Store, the documentation of the package says how slots are reckoned, what comes back,
// and what a store may forget. A Store of today stays one: the interface gets no other methods, and what some
// stores can do besides becomes an interface of its own.
type Store interface {
	// Exchange does all that the request says, as one step which no other call comes between, and in the order
	// of its fields: quotas, what comes back, what went, what costs more, what the server said, and then asks,
	// in their order. It returns when ctx ends. With an error, it may have been done or not; if that is a
	// slog.LogValuer, pacer.Log writes what it says, else not its text. A Limiter takes an Exchange, or a
	// Listen, that has not returned after 300 ms for one that failed, and makes no other call before that one
	// has ended. With OutageClosed, it has as much time as a SlotLife that is set, up to a second.
	//
	// A client of a network may repeat a request: a store must bear the same request twice, and an
	// older one after it. See Request.Serial.
	Exchange(ctx context.Context, r *Request) (*Reply, error)

	// Listen has hear called with the news of a bucket, as soon as there are any, until stop is called, which
	// is once at the most. News may get lost: the next reply says the same. A store without news returns
	// errors.ErrUnsupported. After any other error, a Limiter calls Listen again before its next Exchange; if
	// that fails as well, before one that is a second later, then two, four and so on, and a minute at most.
	// Hear may be called from any goroutine, and does not block for long.
	Listen(bucket string, hear func(News)) (stop func(), err error)
}

// Version is the version of the protocol that this package describes, and that the Limiters of this
// module speak: see [Request.Version].
const Version = 1

// Request is what a Limiter tells a Store and asks of it.
type Request struct {
	// Version is the version of the protocol by which the request is meant. It rises when a store
	// that does not know what is new would break what it promises, and not with every new field.
	//
	// A store serves all versions from 1 to the one that it knows, in one schedule. For any other
	// version, also for zero, it returns an error that says which version came and which it knows,
	// and does nothing. It compares with a number of its own, and not with the constant Version,
	// which a newer module may have raised. So stores are renewed before Limiters are.
	Version int

	// Bucket is the name of the bucket: Shared.Name of a Limiter, or its Name, which is not empty.
	Bucket string

	// Quotas are those of the bucket, valid and in their canonical form: units of requests are empty, Per and
	// Cells are set, Burst is at least 1 for a TokenBucket, and Queue is zero. A Plain quota comes as a
	// SlidingLog, or as a SlidingWindow of 64 Cells. No quota is InFlight or Unanswered, has a WarmUp, Months,
	// a From or a Zone, or lacks an N. What Limiter.Reserve leaves to claims that are not urgent follows as
	// further quotas. All costs in requests and replies are slices of the same length: so much of each quota.
	//
	// Processes may differ in their quotas, while a new version is rolled out: see Reply.Others. A quota of the
	// same Kind, Unit and Per is the same one in all lists, wherever it stands: the first such quota of one
	// list is the first such quota of another. A list is in use until ten seconds after a member last asked by
	// it; a Limiter whose claims wait for slots calls every five seconds. All quotas of all lists in use hold,
	// with the tightest numbers that a quota has in any of them: the smallest N, Burst and Cells, and no Debt
	// unless all have it. A cost above these numbers goes once the whole quota is there. Of a quota that the
	// member does not have, a request costs what it costs of the member's quotas of that Unit, the most of
	// them. A quota of which no list is in use any more delays nobody. It is still charged for its Per, or for
	// a minute if that is longer; 16 such quotas at most are. So charged, a TokenBucket is never deeper in debt
	// than empty.
	//
	// A quota that is new to the bucket takes over the instants and counts of a quota of the same Kind and Unit
	// (in windows of the clock, of the same Per, too) of which no list is in use. If there is none, the new
	// quota is lost: see the documentation of the package, "What a store forgets".
	Quotas quota.Quotas

	// SlotLife is how long after its instant a slot may be used, as the member needs it: not negative, and less
	// than the Per of any window of the clock. From this request on the member uses no slot for longer, also
	// none that it has in hand.
	//
	// What counts is the longest SlotLife of any request within the last Horizon, or half a second if that is
	// longer; one that was not the longest at first may count for up to three times as long. But nothing counts
	// that is longer than the latest SlotLife of each member that is active, of no more than 64 beside the one
	// that asks. Of those of other requests, no more than half of the Per of a window of the clock counts. See
	// Reply.SlotLife. A quota goes on to reckon with a longer one until the slots have expired that may be used
	// for so long, or until each member that is active has asked for less; and of a window of the past until
	// Per after that, but for slots that are handed out for later. What is missing from a TokenBucket then,
	// comes back that much later.
	SlotLife time.Duration

	// Horizon is how far ahead slots are handed out that may not be needed, to all members together.
	// It is not negative.
	Horizon time.Duration

	// Member names the Limiter that asks: a random text, the same for the life of the Limiter. A
	// member counts as active for a time after each request: the longest of two seconds,
	// twice the Horizon, and the time until SlotLife after the last slot that it got. It counts as one that
	// shares the bucket for SharingFor longer. Leave ends both.
	Member string

	// Serial counts the requests of a member from 1. A request that failed may have been done. So the next
	// request repeats it, with the same Serial, Quotas, Back, More, Own and Asks, also if the Limiter has new
	// quotas meanwhile: then the slots that it gets come back with the request after it, as parts of the new
	// quotas. If ten repetitions fail as well, maybe because of these quotas, the next request has the new
	// quotas, no Asks, and Back, More and Own in the new quotas. If the failed request had no Back, More, Own
	// and Asks, or only Asks and there has come something for Own since, the next request has a later Serial.
	//
	// If the store has seen the Serial, it does not do Back, More and Own again, and hands out nothing new: the
	// reply has the slots that the request got before, unless their SlotLife has passed, as long as the member
	// counts as active. It has them also if SlotLife or a quota has changed since, as they are charged. So a
	// request costs no more than what it got once, however often its reply comes late or is lost. If the store
	// has seen a later Serial of the member, the reply has no slots. If the store does not know the member (any
	// more), and the Serial is above 1, it does not do Back, which may have been done before. A negative Serial
	// is an error.
	Serial int64

	// Answered is the Serial of the latest request that the store has answered. It is below the Serial of this
	// request; zero if none was answered. If the store knows the member, but no request of it with that Serial
	// or a later one, the store has lost what it did since, as a replica has that took over too early: the
	// bucket is lost, unless Life says that another life of the bucket answered.
	Answered int64

	// Life is the latest [Reply.Life] for which the member has told all that it had and sent before, with this
	// request at the latest. If it is another one than that of the bucket, the bucket was lost since, and what
	// the member had is lost: also if the store knows the member, since a copy of an earlier request came
	// first. If it is one that began later than that of the bucket, and not one that is to begin, what the
	// store had before has come back: the bucket is lost. Zero if there is none.
	Life int64

	// Sharing is how many members shared the bucket at once (see Reply.Sharing) within the last minute
	// (SharingFor), as far as the member knows; zero if it does not know, as without news (Listen), or if one
	// left (see Reply.Parted). See the documentation of the package, "What a store forgets".
	Sharing int

	// Since is how long ago the member sent the latest request that the store has answered; zero or negative if
	// none was. If by the store's clock more than two seconds more have passed since the member's latest
	// request, and this is no older one, that clock was set, and nobody knows what time it is: the bucket is
	// lost. So it is if the clock has gone back by more than two seconds; else it stands still until it has
	// caught up. A store to which requests may come that late, and whose clock is right, tells the two apart:
	// by how long the call took, as package redisquota does, or by a clock that cannot be set.
	Since time.Duration

	// Fresh says that, as far as the member's user knows, nobody has drawn on the bucket before. If the store
	// cannot tell whether a bucket that it does not know was lost, and the store has never answered the member,
	// it hands out nothing for a Horizon, tells those who listen, and then takes the bucket for a new one;
	// until a member that the bucket does not know says, by Since, that it was answered before the bucket was
	// known. That is a loss of the bucket, unless it has been known for the longest Per.
	Fresh bool

	// Standstill is for how long a claim waits for one token; zero or negative if there is no bound. Whatever a
	// store assumes of a bucket that it may have lost, one token is there by then.
	Standstill time.Duration

	// Leave ends the membership. Nothing is asked for then. The store remembers the Serial for two seconds,
	// since copies of earlier requests may still be on their way.
	Leave bool

	// Back is what was not used, or cost less than was asked for. A Part whose Cost is of other quotas, or has
	// a negative number, is passed over. So that a store is not busy for long, a Limiter sends no more than 64
	// numbers in the Costs of Back and Own, and the rest with the next requests; of what is more, a store may
	// pass over what comes Back.
	Back []Part

	// Own is what the member sent, or may still send, and the store does not know of: without the store, in an
	// outage; before the store lost the bucket. It is charged at its instant, where the quota still counts
	// that, and once for a Serial, as More is. For it, a bucket is empty now at the most, since members tell in
	// any order what went: what a member owes beyond, it tells as More. So a Limiter does when the store is
	// back, of what its part of a bucket still owes from an outage, if the quotas are those of then.
	Own []Own

	// More is what was sent without a slot, or cost more than was asked for, of each quota. It is
	// charged now, whether there is room for it or not: a bucket gets into debt, a window counts
	// more than its N. Nil if nothing was.
	More []int64

	// Outage says that the store was out of reach for the member, so that it and others may have sent without
	// the store. If nobody asked for anything for more than half a Horizon, nothing is handed out for the next
	// Horizon, in which all can tell what they sent. So it begins anew if the store was away again within it. A
	// TokenBucket is empty at its beginning; or if slots were handed out for later, at the last of these, but
	// at its end at the latest.
	Outage bool

	// GoesOn says that the member goes on with its part while it cannot reach the store, as a Limiter with
	// OutageShare does. If nobody asked for anything for a Horizon, nor until the last slot, such members may
	// just have done so. Whoever asks then, whether it goes on or not, need not know: it did not send, or is
	// new. So it and all others get no more in the next Horizon than what is spare, until one says Outage.
	//
	// Of the n members that shared the bucket when somebody asked last (see Reply.Sharing), k others said
	// GoesOn in their latest requests. Each of them may have used 9/10 of an n-th of a window's N, rounded
	// down. So spare is what is left now, less that for each of them; and if it is more, until Per after
	// somebody asked last, what was left then, less 9/10 of an n-th of that, rounded down, for each of them. So
	// if anything was left, one token is spare.
	//
	// Of a TokenBucket, each may have used what came since at 9/10 of an n-th of the rate. Of a full one it may
	// be no more than p, 9/10 of an n-th of the Burst, rounded down, but at least 1. So spare is what would be
	// there now had it come back at 1 − 0.9·k/n of the rate since somebody asked last, and no more than Burst −
	// k·p; or if that is more, and no more than the Burst came since, what is there less 9/10 of an n-th of
	// what came, rounded down, for each of them. One token of a Burst of at most k always is spare, although
	// others may have used it.
	//
	// If k is 0, all of it is there at once. If one of the k others asks or tells something meanwhile, without
	// Outage, it sent nothing: its part is there, too, and once all have done so, all is. So who listens is
	// told, by News.Lost, when somebody first has to wait.
	//
	// If somebody was told to wait for the end of that Horizon, or it was one of Outage, and nobody has asked
	// since, the store may have been away again, so that others could not tell. Then, after the next silence,
	// what was left of a window counts for no more than what was spare, and of a TokenBucket no more is spare
	// than that and what has come back since at 1 − 0.9·k/n of the rate.
	GoesOn bool

	// Ahead is how far from now the last slot is that the store has handed out to any member, as far as the
	// member knows. Zero or negative if it knows of none that is ahead. A store that knows the bucket passes
	// over it.
	Ahead time.Duration

	// Release says that a person ends what keeps the bucket from going: the hold, what servers said, what was
	// assumed after a loss, and what was charged beyond the quotas. A TokenBucket that is in debt is empty now,
	// and of a window N are used up at the most; slots that were handed out stay charged, also by an N that was
	// larger lately. Those beyond the Horizon do not count as ahead any more: members return them for what is
	// sooner now. Members hear of it as news, and end their holds. No Limiter sends it.
	Release bool

	// Hold is for how long from now nothing is to be sent, since a server said so; zero or negative
	// if it did not. A bucket's hold is only ever extended. No slot is handed out before its end, and
	// the members hear of it as news; slots that they have are their own matter.
	Hold time.Duration

	// Statements are the latest that a server said about each of its limits, with Reset from
	// now. A store keeps one for each Name, Counter and Unit, 16 at most: of two with the same
	// reset (no farther apart than the larger [Doubt]) the smaller Remaining, else the one whose reset is
	// later; but of one with a Resolution of a millisecond, a Doubt of 501 ms, and one of a second, a Doubt of
	// 1.5 s, the one of a millisecond. The other one may be a bare number of milliseconds that was read as
	// seconds, by a member that has not found out the unit. A statement is forgotten at its reset, or if there
	// is none after Horizon.
	Statements []quota.Statement

	// Learned is what the member has learned of the server, for members that come later: a text of MaxLearned
	// bytes at the most, which only Limiters read; empty if there is nothing new. A store keeps the latest one
	// for a day, and passes over a longer one. It may be forgotten at any time. A store that knows nothing of
	// it may leave it out.
	Learned string

	// Hand is what the member has of slots that it got before and has not used. Nil if it has none.
	Hand []int64

	// Asks are what the member asks for, the first claim in line first.
	Asks []Ask

	// Look says that nothing is to change, and nobody to hear of anything: the reply is what it would be. A
	// bucket of which the store does not know the quotas may be looked at without any: see Reply.Others. No
	// Limiter sends it.
	Look bool
}

// Own is what a member sends without a slot that the store knows.
type Own struct {
	In   time.Duration // from now to when it goes; negative if it went
	Cost []int64       // of each quota
}

// Part is a part of a slot.
type Part struct {
	Slot int64   // ID of the slot
	Cost []int64 // how much of it, of each quota
}

// Ask asks for slots. An ask whose Cost is of other quotas, negative, or above what a quota grants at
// once, gets none.
//
// Fairness among members bounds how many slots are handed out. The work of a cost is the time in which it comes
// back: the largest cost·Per/N of all quotas. A slot is handed out in two cases: if it is within a quarter of
// the Horizon from now; or if the work of all that the member has (Hand, and its slots of this reply) is below
// the member's share, Horizon/(number of active members, itself included). So a member that has nothing gets
// something, and members that always want more get the same, by Little's law, where slots come one after the
// other. What is there at once, as all of a window is when it begins, goes to those who ask: more of it to
// members that are nearer to the store, or have more callers, if it is gone within a few round trips. The reply
// ends at the first ask that gets no slot for this reason.
//
// What a call gets is remembered, since the request may come again (see Request.Serial). So the reply ends as
// well after 512 runs, divided by the number of active members, and 32 at least: a run is slots for one ask, as
// many at each instant, that are evenly spaced and wait for the same quota. The member asks for the rest with
// its next request. A store may end a reply earlier for reasons of its own.
type Ask struct {
	Cost   []int64       // of each quota: at most its N; of a TokenBucket its Burst, or with Debt any number
	Count  int           // how many slots of that cost; zero or negative: none
	Within time.Duration // a slot later than that from now is of no use: it is not handed out, and the next ask follows; zero: only a slot of now is of use; negative: there is no bound
}

// Reply is what a Store answers.
type Reply struct {
	// Slots are handed out in the order of asks.
	Slots []Slot

	// Next is the time until a slot for the first ask that got too few; if all asks got what they asked for,
	// the time until one more slot for the last ask. It is exact if nobody else asks before. If nothing was
	// asked for, Next is how far ahead of now the last slot is.
	Next time.Duration

	// Bound is the index of the quota for which Next waits. If the member does not have that quota, it is the
	// index of the member's first quota of that Unit; it is -1 if Next waits for no quota, or for the hold.
	Bound int

	// Ahead is how far ahead of now the last slot is that was handed out to any member, or the end of the debt
	// of a TokenBucket, if that is later; zero if it is in the past. A Limiter returns slots that are more than
	// half a second beyond it, unless the reply says Lost.
	Ahead time.Duration

	// SlotLife is E: for how long after their instants the store reckons that these slots may be used. It is no
	// less than the SlotLife of the request.
	SlotLife time.Duration

	// Members is how many members are active, with the one that asked: at least 1.
	Members int

	// Sharing is how many members divide the quotas among them if the store cannot be reached: those that were
	// active within the last minute (SharingFor) and have not left, with the one that asked. Never less than
	// Members; zero if the store does not say, and then Members are taken for all. A store that cannot count so
	// many says 1<<30: then next to nothing is sent meanwhile.
	Sharing int

	// Hold is for how long from now nothing is to be sent; zero if it is not held.
	Hold time.Duration

	// Lost says that the store did not know the bucket, or the member although its Serial was above 1: slots
	// that it got before cannot come back. All replies to the member say so until one was answered
	// (Request.Answered), since a reply may get lost.
	Lost bool

	// Life names the life of the bucket: each loss begins another one, with a larger number unless the store's
	// clock is set back. Zero if the store does not say: then Request.Answered alone tells whether a member has
	// heard of a loss.
	Life int64

	// Parted says that a member left within the last minute (SharingFor): nobody will tell what it sent. Parted
	// is also true after the store has lost the bucket, until all members that had it have told: Sharing counts
	// only members that came since.
	Parted bool

	// Known is for how long the store has known the bucket. If the reply says Lost, the member tells as Own
	// what it sent before that time, and slots from before it. Zero if the store does not know that; then it
	// takes no Own.
	Known time.Duration

	// Left is how much of each window is left now, all slots counted. It is zero for a TokenBucket, and for a
	// window of the clock if there are slots in a later window. While others may have something to tell (see
	// Request.GoesOn), it is no more than what is spare. Nil if the store does not say.
	Left []int64

	// Statements are all that are known, with Reset from now. A Limiter believes 16, and none whose Name,
	// Counter or Unit is longer than 256 bytes.
	Statements []quota.Statement

	// Learned is the latest that a member has told, if the store does not know the member that asks; else
	// empty.
	Learned string

	// Others are other Quotas by which members asked in the last ten seconds, as while two versions of a
	// program run: the latest first, and four at most. Quotas by which one member alone asked, which asks by
	// others now, do not count. The reply to a Look without Quotas has the latest ones, however long ago they
	// came. Instants are cut to whole seconds for that.
	Others []quota.Quotas
}

// SharingFor is for how long a member that is no longer active is still counted among those that share a
// bucket: see Reply.Sharing.
const SharingFor = time.Minute

// MaxLearned is how many bytes of Request.Learned a store keeps.
const MaxLearned = 8 << 10

// Slot is the right to send requests of one cost, at an instant.
type Slot struct {
	ID    int64         // names the slot to the store; Redis's own microseconds, say, and means nothing to others
	In    time.Duration // the time from the making of the reply to the instant; negative only in the reply to a repeated request, if the slot has begun
	Ask   int           // index of the ask that it is for
	Count int           // how many slots at that instant
	Bound int           // index of the quota that the slot had to wait for; -1 if it is none
}

// News is what listeners are told. There is Room in two cases: something came back whose instant has passed,
// and slots are more than the Horizon ahead; or work (see [Ask]) of an eighth of the Horizon came back in one
// request, and slots are ahead that are not near. A Limiter with claims that wait for such slots returns them
// then, and asks again.
type News struct {
	Hold     time.Duration // for how long from now nothing is to be sent; zero if it is not news
	Room     bool          // something came back, while slots were handed out ahead: see above
	Lost     bool          // the store has lost the bucket, or news of it, or a member waits for what others may have to tell: see Request.GoesOn. A member that has slots, or has sent, asks now
	Released bool          // a person has ended the hold, and a debt: see Request.Release

	// Sharing is how many members share the bucket now (see Reply.Sharing), if a new member came. Zero if it is
	// not news. It tells members that ask seldom of the others.
	Sharing int

	// Ahead is how far from now the last slot is, if that is more than the Horizon, and more by a quarter than
	// the last slot of which such news told. Zero if it is not news, and if no other member has said GoesOn. It
	// tells members that ask seldom what others have got, in case the store is out of reach next.
	Ahead time.Duration
}
