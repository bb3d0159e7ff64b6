package verdict

import "net/http"

// Idempotent reports whether sending a request twice has the same effect as sending it once. That holds for
// the methods of RFC 9110 section 9.2.2, for QUERY (draft-ietf-httpbis-safe-method-w-body), and for a
// request with the header Idempotency-Key: as in net/http, the presence of the header is enough.
func Idempotent(req *http.Request) bool {
	if IdempotentMethod(req.Method) {
		return true
	}
	_, key := req.Header["Idempotency-Key"]
	_, xkey := req.Header["X-Idempotency-Key"]
	return key || xkey
}

// IdempotentMethod reports whether a method is idempotent. The empty method is GET.
func IdempotentMethod(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete, "QUERY":
		return true
	}
	return false
}
