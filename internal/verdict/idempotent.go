package verdict

import "net/http"

// Idempotent reports whether sending twice is the same as sending once: the methods
// of RFC 9110 section 9.2.2 and QUERY (draft-ietf-httpbis-safe-method-w-body), or an
// Idempotency-Key, by the rule of net/http that the header's presence is enough.
func Idempotent(req *http.Request) bool {
	if IdempotentMethod(req.Method) {
		return true
	}
	_, key := req.Header["Idempotency-Key"]
	_, xkey := req.Header["X-Idempotency-Key"]
	return key || xkey
}

// IdempotentMethod reports whether a method is idempotent. The empty one is GET.
func IdempotentMethod(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete, "QUERY":
		return true
	}
	return false
}
