// Package store is for those who write a [Store]: the place where the quotas of a bucket live when
// several processes share the bucket. A program that only uses a store sets the field Store of a
// Limiter; of this package it may need [Memory], for tests:
//
//	shared := new(store.Memory) // or a store that several processes reach: see package redisquota
//	limiter := &throttle.Limiter{Name: "api.example.com", Quotas: quotas, Shared: throttle.Shared{Store: shared}}
//	defer limiter.Close()
//
// The package has the protocol between a Limiter and a store ([Store], [Request], [Reply]); a
// [Ledger], which is all that a store does with one bucket, without a clock and without a network;
// and Memory, a store within one process.
//
// # How to write a store
//
// If Go code can run beside the data, a Ledger does the work: it is given a request and the instant,
// and returns a reply and news. A Ledger can be written to bytes and read again. So a store may keep it
// wherever one process at a time changes it: in a file with a lock, or in a row in a transaction. The
// example of the package is such a store. If no Go code can run there, as in Redis, a script does the
// same. The next three sections define what it has to do.
//
// # Slots
//
// An ask gets the earliest instant, not before now and the end of a hold, at which all quotas of which it costs
// anything agree; none that is more than 50 years ahead, as it may be of a bucket with Debt. The slots that
// were handed out for later instants remain right whatever comes before them. In the formulas,
//
//	s is the instant of the slot,
//	c is what the ask costs of the quota,
//	E is the SlotLife of the bucket (Reply.SlotLife): a slot may be used from s until s + E, by whoever asks for so long.
//
// The examples are of an E of 100 ms and asks that cost 1, of a bucket that nobody has used before.
//
//   - TokenBucket: T = Per/N is the time in which a token comes back, τ = Burst·T − E is what may be
//     missing, SlotLife taken off, and full is when the bucket is full again. Then s ≥ full + c·T − τ,
//     and after that full = max(full, s) + c·T. What is sent in a span of t comes from slots in a
//     span of t + E, hence is at most (τ + t + E)/T = Burst + t·N/Per. When E becomes shorter, by d, full is
//     later by d: so much later may all that went before have been used. When E becomes longer, full is
//     sooner by that, but not before now; not where Burst is too small for E. When Burst or N change, at the
//     later of now and the last near slot, as much is there as before, and no more than the new Burst: a
//     server's bucket then has Burst − (full + E − now)/T. With Debt, for s (not for full), c is at most Burst.
//     Example: of 10 in a second with a Burst of 5, T is 100 ms and τ is 400 ms. Of five asks at
//     0 ms, four get 0 ms, and the fifth gets 100 ms.
//     Where Burst is too small for E (τ < T), T is longer by the factor 1 + E/P, P the larger of Per
//     and a second, and τ = T. Then a span of P sees at most 1 + P·N/Per, as it does without a
//     store, but what is due within E may go at once. To a server that is a strict bucket, a Burst
//     of 2 + N·E/Per says what it bears.
//     Example: of 10 in a second with a Burst of 1, T is 110 ms. Three asks at 0 ms get 0, 110 and
//     220 ms.
//     Of slots that are near, no more than a twentieth of the Horizon ahead, each later one is not before.
//     Before the others, of which 16 are remembered, and 64 with those that are more than twice the Horizon
//     ahead, others may come with which they remain right.
//   - SlidingWindow, SlidingLog, FixedWindow: no more than N, c included, came in the Per + E before s, or
//     before any later slot: what was sent up to E late has left Per before what is sent on time. Of slots that
//     are near, each later one is not before. Slots that are near together join a cell, which leaves Per + E
//     after the last of it: Per/Cells of a SlidingWindow, E of the others, but of either no more than Per/100,
//     or 20 ms; of what is charged without a slot, Per/1000 if that is longer, on either side. That bounds what
//     is to be remembered. A FixedWindow is counted as a SlidingLog: its first request tells when the server's
//     window begins, and nobody knows which of the slots that is. Example: of 3 in a second, asks at 0, 20, 300
//     and 300 ms get 0, 20, 300 and 1120 ms: the slots of 0 and 20 ms join a cell, which leaves 1100 ms after
//     20 ms.
//   - ClockWindow: no more than N slots are in each window of the store's clock, and none in its last E: what
//     is sent late is sent in the same window. Of slots of the window that runs which are near, each later one
//     is not before. Before the others, of which 32 are remembered, others may come with which they remain
//     right. Of more, those of a twentieth of the Horizon count as one, and nothing comes between them.
//     Example: of 3 in a second, asks at 850, 850 and 950 ms of the clock get 850, 850 and 1000 ms.
//   - EstimatedWindow: likewise none in the last E. Cur and prev are what is in the window of s and
//     in the one before it, c included, and u is the part of the window that is over at s. Then
//     cur + prev·(1 − u) < N + 1/2. What goes late, in the same window, meets a smaller estimate, of
//     no more than all slots up to then.
//     Example: of 4 in a second, after four slots at 0 ms, two asks at 1000 ms get 1125 ms, since
//     1 + 4·(1 − 0.125) = 4.5, and 1375 ms, since 2 + 4·(1 − 0.375) = 4.5.
//
// Rounding is to the safe side, later, and by at most a microsecond for each ask. Each of these
// conditions holds for any part of the slots if it holds for all: what is not sent
// needs no mention, though it is a waste.
//
// # What comes back
//
// A member may return a part of a slot. If the slot is more than a twentieth of the Horizon ahead, the part
// counts as never handed out, unless that would be of no use: later slots of a bucket, or of a window of the
// clock, were handed out in their order, or count as one with this one. Such a part, and that of a slot which
// is nearer and still to come, stays charged: it is handed out again, at its own instant, to the first ask
// whose cost it covers, unless there is room before. So who asks for the same again with the same request gets
// it no later. Parts of 256 slots are remembered; what comes back beyond lapses. But if SlotLife has become
// longer, or a quota of the bucket has changed, since there were slots after it, it is not handed out again,
// and counts as never handed out at once: they reckon with the shorter one, and the quota of now may not allow
// it at its instant. A part that is left when its instant has passed, or that is returned later, counts as
// never handed out:
//
//   - The windows count the part no longer at the slot's instant, if they still count that instant.
//   - From a bucket's full, the store subtracts the least of: c·T; full − now; and the room just before each
//     slot that was handed out later, which is max(0, full − s) with the full of that time. A larger
//     refund would have overflowed the bucket. A store may remember fewer such
//     instants than there were, and then subtracts less.
//
// # What a store forgets
//
// A store may have lost a bucket that it does not know, and members may still have slots of it, which remain
// right. So the store tells those who listen ([News.Lost]), and takes such a bucket as used evenly, at its full
// rate, up to an instant h: the Horizon of the request from now. It hands out nothing until h, and until then
// learns what members still know ([Request.Ahead], [Request.Own]). At h,
//
//   - a TokenBucket is empty, and there are no slots of it before; if a member says until h that it knows of
//     slots that are further ahead, the bucket is empty after these;
//   - a window of Per is used up, and a tenth of N comes back each Per/10 from then on: ⌊k·N/10⌋ in all until
//     k·Per/10. Nobody can have used more than N: what a member tells takes the place of what is assumed, the
//     oldest first;
//   - a window of the clock has used up N times the part of it that is over at h, rounded up, and the
//     window before it has used up N. What a member tells takes the place of that, too.
//
// If all members that had the bucket have told what they sent, which is as many as any of them says
// ([Request.Sharing]), nothing is unknown of a window of at most a minute (SharingFor; of an estimate, half of
// it): nothing is assumed of it any more, slots of it are handed out when a quarter of the Horizon is over, and
// those who listen are told, by News.Lost. A member that has not asked for longer than SharingFor sent nothing
// that still counts. A member tells by two requests: the first names another Life, the second names this one.
// If some members ask by other quotas, the store cannot know that all have told.
//
// If other members ask by another quota within SharingFor after the loss, that quota is charged with what was
// told before it came; what was sent within one second counts as sent with the last of it.
//
// If no token has come by [Request.Standstill], one is there then. If that is before Per/10, ⌊N·d/Per⌋ tokens
// in all are there at each d that is twice the Standstill, four times the Standstill and so on, so that nobody
// waits for hours at the first use of 1000 a day. Of a window of the clock, one token is left over.
//
// A clock that was set is a loss of the bucket, too: see [Request.Since]. So is an answer of the store that it
// does not know any more: see [Request.Answered]. A member that knows that a bucket is new may say so: see
// [Request.Fresh].
//
// A [Memory] loses nothing while its users live: it takes a bucket that it does not know for a new one. A store
// should remember an unused bucket for a day, or for twice the longest Per if that is longer. It should
// remember the Serial of a member that has not left for the longest Per, and for a minute at least. A Ledger
// remembers 512 members: the one that was silent for longest goes, and is told that it was lost, should it come
// back. If 512 share a bucket, there may be more: see [Reply.Sharing].
//
// # What may change
//
// The package is experimental until there are three stores by different people: until then anything
// may change, and the changelog says what. From then on this holds:
//
//   - Structs may grow. The zero of a new field means what was meant before there was the field. So
//     write their literals with the names of fields, and do not compare them by ==.
//   - Interfaces do not grow. A further ability of stores becomes an interface of its own. A Limiter
//     looks for it in its Store by a type assertion, when the Limiter is first used. This list names all
//     such interfaces: there are none yet. A Store that wraps another one hides them, unless it has them too.
//   - [Request.Version] rises if a store that does not know the new version would break a promise. Such a
//     store has to return an error.
//
// # Units and errors
//
// Costs are whole tokens. Durations have nanoseconds; a store that counts more coarsely rounds slots up. Each
// field says what zero and negative numbers mean; a value that no Limiter sends is an error. Errors of the
// package begin with "store: ". A Limiter takes any error as an outage of the store: its field Outage says
// which requests go meanwhile. A panic or a runtime.Goexit of a method is an outage, too: the caller of the
// Limiter could not recover from it, since methods are called in goroutines of the Limiter. The error has the
// value of the panic, and where it was.
//
// The package knows the arithmetic of slots (throttle/internal/slot). It knows nothing of claims, of
// lines and timers, and of what a server's statements mean.
package store
