// Package suites runs the tests of SDKs, which others wrote, unmodified and in pinned
// versions, with pacer between their HTTP clients and whatever these use as a transport,
// and says for which tests that makes a difference.
//
// The tests are built once, with a net/http in which http.Client asks a hook for its
// transport, and run three times: without pacer, with it as it is, and with a pacer that
// sends nothing twice. Nothing in the SDKs is changed, but for one that calls its transport without an
// http.Client, and asks the hook there (Suite.Patches). No option of theirs is needed: what they do to
// http.DefaultTransport, the clients of httptest and transports that tests make up all have pacer above them.
package suites

import (
	"cmp"
	"context"
	"path"
	"slices"
	"time"
)

// Suite is the tests of one module, or of packages of the standard library.
type Suite struct {
	Name string

	// Module and Version are what is downloaded. If empty, Packages are those of the
	// standard library that the toolchain has.
	Module, Version string

	// Dirs are the parts of the module that are copied. If empty, all of it.
	Dirs []string

	// Packages are patterns of what is tested, as go test takes them.
	Packages []string

	// Patches call the hook where the module calls transports itself, without an http.Client.
	Patches []Patch

	// Skip are the names of tests that run neither without nor with pacer.
	Skip []string

	// Hang are the names of tests that hang where pacer sends again what failed, end the process of all, or
	// take minutes, and are left out there. Each has its Cause.
	Hang []string

	// Timeout bounds what the tests of one package take. Zero means three minutes.
	Timeout time.Duration

	// Env is added to the environment of the tests.
	Env []string

	// Mock, if not nil, starts the server that the tests need, and returns what to add
	// to their environment, and what stops it.
	Mock func(context.Context, *Place) (env []string, stop func(), err error)

	// Short suites are the quick ones. Slow are the tests that Short leaves out.
	Short bool
	Slow  []string
}

// All returns the suites.
func All() []Suite { //nolint:funlen // a flat table
	return []Suite{
		{
			Name: "go-retryablehttp", Short: true,
			Module: "github.com/hashicorp/go-retryablehttp", Version: "v0.7.8", Packages: []string{"."},
			Slow: []string{
				"TestClient_DefaultBackoff", "TestClient_Do", "TestRoundTripper_RoundTrip", "TestRoundTripper_TransportFailureErrorHandling",
			},
		},
		{
			Name: "go-github", Short: true,
			Module: "github.com/google/go-github/v75", Version: "v75.0.0", Packages: []string{"./github"},
			Slow: []string{"TestDo_rateLimit_sleepUntilResponseResetLimitRetryOnce"},
		},
		{
			Name:   "backoff",
			Module: "github.com/cenkalti/backoff/v4", Version: "v4.3.0", Packages: []string{"."},
		},
		{
			Name:   "oauth2",
			Module: "golang.org/x/oauth2", Version: "v0.37.0", Packages: []string{"./..."},
		},
		{
			Name:   "slack",
			Module: "github.com/slack-go/slack", Version: "v0.35.0", Packages: []string{".", "./slackutilsx", "./socketmode"},
		},
		{
			Name:   "vault/api",
			Module: "github.com/hashicorp/vault/api", Version: "v1.23.0", Packages: []string{"."},
		},
		{
			Name:   "minio-go",
			Module: "github.com/minio/minio-go/v7", Version: "v7.4.1", Packages: []string{".", "./pkg/credentials", "./pkg/signer"},
		},
		{
			Name: "aws-sdk-go-v2", Short: true,
			Module: "github.com/aws/aws-sdk-go-v2", Version: "v1.47.7",
			Packages: []string{"./aws/transport/http", "./aws/retry", "./aws/middleware", "./aws/signer/v4"},
		},
		{
			Name:   "aws dynamodb",
			Module: "github.com/aws/aws-sdk-go-v2/service/dynamodb", Version: "v1.73.1", Packages: []string{"."},
		},
		{
			Name:   "openai-go",
			Module: "github.com/openai/openai-go/v3", Version: "v3.96.0", Mock: standIn("TEST_API_BASE_URL"),
			Packages: []string{".", "./auth", "./azure", "./bedrock", "./internal/requestconfig", "./option", "./packages/ssestream", "./webhooks"},
		},
		{
			Name:   "anthropic-sdk-go",
			Module: "github.com/anthropics/anthropic-sdk-go", Version: "v1.84.0", Mock: standIn("TEST_API_BASE_URL"),
			Packages: []string{".", "./bedrock", "./config", "./internal/auth", "./internal/requestconfig", "./lib/betafallback", "./packages/jsonl"},
		},
		{
			Name:   "stripe-go",
			Module: "github.com/stripe/stripe-go/v82", Version: "v82.5.1", Mock: stripeMock,
			Packages: []string{".", "./charge", "./customer", "./file", "./oauth", "./paymentintent", "./rawrequest", "./webhook"},
		},
		{
			Name:   "google-api-go-client",
			Module: "google.golang.org/api", Version: "v0.250.0",
			Dirs:     []string{"googleapi", "internal", "option", "transport"},
			Packages: []string{"./googleapi", "./internal/gensupport"},
		},
		{
			Name:   "godo",
			Module: "github.com/digitalocean/godo", Version: "v1.236.0", Packages: []string{".", "./metrics", "./util"},
		},
		{
			Name:   "connect",
			Module: "connectrpc.com/connect", Version: "v1.21.1", Packages: []string{".", "./internal/memhttp/..."},
			Timeout: 6 * time.Minute, // its servers answer some calls with 429 whatever comes
		},
		{
			Name:   "resty",
			Module: "github.com/go-resty/resty/v2", Version: "v2.17.2", Packages: []string{"."},
		},
		{
			Name:   "go-openai",
			Module: "github.com/sashabaranov/go-openai", Version: "v1.43.0", Packages: []string{".", "./internal", "./jsonschema"},
		},
		{
			Name:   "oras-go",
			Module: "oras.land/oras-go/v2", Version: "v2.7.0", Packages: []string{".", "./registry/..."},
		},
		{
			Name:   "go-containerregistry",
			Module: "github.com/google/go-containerregistry", Version: "v0.22.1",
			Packages: []string{
				"./pkg/authn/...", "./pkg/crane", "./pkg/gcrane", "./pkg/registry", "./pkg/v1/cache", "./pkg/v1/google", "./pkg/v1/remote/...",
			},
		},
		{
			Name:   "elastic-transport",
			Module: "github.com/elastic/elastic-transport-go/v8", Version: "v8.11.0", Packages: []string{"./elastictransport"},
			Patches: []Patch{{
				"elastictransport/elastictransport.go",
				"func (c *Client) roundTrip(req *http.Request) (*http.Response, error) {\n",
				`func (c *Client) roundTrip(req *http.Request) (*http.Response, error) {
	if http.Between != nil {
		bare := c.transport
		c = &Client{transport: http.Between(nil, bare), interceptor: c.interceptor}
	}
`,
			}},
		},
		{
			Name:   "websocket",
			Module: "github.com/coder/websocket", Version: "v1.8.15", Packages: []string{".", "./wsjson"},
		},
		{
			Name:   "eventsource",
			Module: "github.com/launchdarkly/eventsource", Version: "v1.11.0", Packages: []string{"."},
			Hang: []string{"TestStreamErrorHandlerCanAllowRetryOfInitialConnectionAfterNetworkError"},
		},
		{
			Name:   "mcp go-sdk",
			Module: "github.com/modelcontextprotocol/go-sdk", Version: "v1.8.0", Packages: []string{"./auth/...", "./mcp", "./oauthex"},
		},
		{
			Name:   "client-go",
			Module: "k8s.io/client-go", Version: "v0.37.2",
			Packages: []string{"./discovery", "./dynamic", "./rest/...", "./transport/..."},
			Hang: []string{
				"TestRequestDoWithRetry", "TestRequestDoRawWithRetry", "TestRequestStreamWithRetry", "TestRequestWatchWithRetry",
				"TestRequestDoWithWrapPreviousError", "TestRequestWatchWithWrapPreviousError",
				"TestRetryableConditions", "TestRequestConcurrencyWithRetry",
			},
		},
		{
			Name: "net/http/httputil", Short: true, Packages: []string{"net/http/httputil"}, Timeout: 20 * time.Second,
			Slow: []string{"TestReverseProxy_CopyBuffer"},
		},
		{
			Name: "net/http", Packages: []string{"net/http"}, Timeout: 150 * time.Second,
			Hang: []string{
				"TestProxyWithInfiniteHeader", "TestTransportResponseHeaderTimeout",
				"TestTransportCancelRequestInDial", "TestTransportCancelRequestInDo", "TestTransportCancelRequestWithBodyInDo",
				"TestTransportProxyConnectHeader", "TestTransportProxyGetConnectHeader", "TestCancelRequestWhenSharingConnection",
			},
		},
	}
}

// Short returns the quick suites, without their slow tests.
func Short() (all []Suite) {
	for _, s := range All() {
		if s.Short {
			s.Skip = slices.Concat(s.Skip, s.Slow)
			all = append(all, s)
		}
	}
	return all
}

// skipped are the names of the tests that are left out in a mode.
func (s Suite) skipped(mode Mode) []string {
	if mode != Paced {
		return s.Skip
	}
	return slices.Concat(s.Skip, s.Hang)
}

// dir is the name of the folder of a suite.
func (s Suite) dir() string { return path.Base(s.Name) + "@" + cmp.Or(s.Version, "std") }

func (s Suite) timeout() time.Duration { return cmp.Or(s.Timeout, 3*time.Minute) }
