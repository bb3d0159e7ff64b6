package adaptive

// Kind is what kind of request a claim is for.
type Kind struct{ Verb, Path string }
