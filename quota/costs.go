package quota

// Costs are how many tokens of each unit a request takes: {"tokens": 1200}. A request takes one
// token of the unit [Requests] unless its Costs say otherwise, and none of any other unit that its
// Costs do not have. A negative number counts as zero. Costs are only read, and must not be
// changed while a throttle.Limiter may read them.
type Costs map[string]int
