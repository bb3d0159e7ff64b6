package verdict

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Ask reports whether a CheckRetry of go-retryablehttp wants another attempt. An error is passed in a
// url.Error, as http.Client would, since the policies of go-retryablehttp misjudge other errors. An error
// beside a yes says why, as of its ErrorPropagatedRetryPolicy after a 503, and is no no; unless it is marked as
// final.
func Ask(check func(context.Context, *http.Response, error) (bool, error), req *http.Request, resp *http.Response, err error) bool {
	ctx := context.WithValue(req.Context(), requestKey{}, req)
	if err != nil {
		op := "Get"
		if m := req.Method; m != "" {
			op = m[:1] + strings.ToLower(m[1:])
		}
		err = &url.Error{Op: op, URL: req.URL.Redacted(), Err: err}
	}
	again, why := check(ctx, resp, err)
	return again && !Marked(why)
}

// requestKey is the key under which the context given to CheckRetry has the request.
type requestKey struct{}

// IdempotentByError reports whether the request that ended with err is idempotent. The request is looked up in
// the context; if the context does not have it, only the method is known, from the text of the url.Error.
func IdempotentByError(ctx context.Context, err error, idempotent func(*http.Request) bool) bool {
	if req, ok := ctx.Value(requestKey{}).(*http.Request); ok {
		return idempotent(req)
	}
	var sent *url.Error
	return errors.As(err, &sent) && sent.Op != "" && IdempotentMethod(strings.ToUpper(sent.Op))
}
