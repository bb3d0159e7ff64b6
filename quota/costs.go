package quota

// Costs are how many tokens of each unit a request takes: {"tokens": 1200}. Of the unit [Requests] a
// request takes one token, or more if its Costs say so; of any other unit it takes none, unless its
// Costs say so. So nil Costs are one request. An empty unit is [Requests], and of the two the larger
// number counts. A negative number counts as zero.
//
// A throttle.Claim says what it costs in requests in its N, and in its Costs the rest.
//
// Costs are only read, and must not be changed while a throttle.Limiter may read them.
type Costs map[string]int64
