package throttle

// Class is what kind of request a claim is for: what it does, and to what. Where a server counts
// some requests of a bucket on their own, those of like Classes are taken to belong together. Of an
// HTTP request it is the method and the path.
type Class struct {
	Verb string
	Path string // parts separated by slashes
}
