package throttle

// Class says what kind of request a claim is for: what the request does, and to what. Where a server counts
// some requests of a bucket on their own, requests of similar Classes are taken to be counted together. For
// an HTTP request it is the method and the path.
type Class struct {
	Verb string // what the request does, such as GET
	Path string // to what; parts are separated by slashes
}
