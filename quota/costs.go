package quota

// Costs are how many tokens of each unit a request takes: {"tokens": 1200}. Of the unit [Requests] a
// request takes one token, or more if its Costs say so; of any other unit it takes none, unless its
// Costs say so. So nil Costs are one request. An empty unit is [Requests], and of the two the larger
// number counts. A negative number counts as zero.
//
// A cost in a unit that is nearly that of a quota, such as "token" beside "tokens", would draw on nothing. It
// is throttle.ErrUnit. Two words are nearly the same if they differ in nothing but case, blanks, the marks '-',
// '_' and '.', or a plural; or by one letter that is inserted, removed, replaced or swapped with the next in a
// part of four letters or more (replaced: five, and not the first). Words that differ in a digit are two words:
// "tier1" and "tier2". If both words are meant, a quota without an N says so: "no limit of PutRecords" beside
// one in "PutRecord". What counts as nearly the same may change.
//
// A throttle.Claim says what it costs in requests in its N, and in its Costs the rest.
//
// Costs are only read, and must not be changed while a throttle.Limiter may read them.
type Costs map[string]int64
