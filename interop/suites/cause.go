package suites

import (
	"regexp"
	"slices"
)

// Cause is why tests end otherwise with pacer.
type Cause struct {
	Suite string
	Mode  Mode   // empty if in all
	Tests string // a regular expression for the whole name of a test
	Why   string
}

// What several tests have in common.
const (
	sentAgain = "the test counts what its server is asked, and pacer sends again what failed or was refused," +
		" with any retries of the client on top"
	cancelRequest = "the test calls CancelRequest of the *http.Transport below pacer, which is deprecated, and" +
		" looks like a failure from above; the request is sent again"
	sameError = "the test compares the error of a context by ==; for a request that was not sent pacer returns a" +
		" *throttle.Error, in which errors.Is finds the same"
	slowStart = "the test answers no request before all are there, and pacer starts slowly: the first goes" +
		" alone, and the others within seconds without an answer"
	resigned = "the client renews or signs its credentials for each of its own attempts, and pacer sends what it was" +
		" given; PrepareRetry is where that can be done"
	adapted = "the client changes the request before its next attempt (another model, another URL, a count in a" +
		" header), and pacer sends what it was given, below it"
	held = "the test sends again before the time that its server has named, or to the nanosecond at that time; a hold" +
		" is for all requests to a server, and ends up to 1 % later, by chance"
	toMilliseconds = "the test wants times that are right to milliseconds, or that others wait for it, and fails without pacer," +
		" too, where the machine is busy"
	anyTransport = "so it is with any RoundTripper between them that is no *http.Transport"
)

// Causes are the known ones.
func Causes() []Cause { //nolint:funlen // a flat table
	return []Cause{
		{"go-retryablehttp", Paced, `TestClient_ResponseLogHook/.*`, sentAgain},
		{"go-github", Paced, `TestDo_rateLimit_sleepUntilResponseResetLimitRetryOnce`, sentAgain},
		{"slack", Paced, `TestConnectionOnlyRetryHandlersOnlyRetriesConnection/429_not_retried|TestRetryExhausted429ReturnsError`, sentAgain},
		{
			"slack", Paced, `TestRTMConnectRateLimit`,
			"the test wants delays that grow, which the SDK takes from Retry-After; refused for ever, pacer at last refuses" +
				" itself for MaxWait, and to an error that is no answer the SDK applies delays of its own",
		},
		{"openai-go", "", `TestX509WorkloadIdentitySharesRefreshAfterConcurrentUnauthorized`, slowStart},
		{"openai-go", "", `TestX509Transport(BoundsNonCooperativeDialers|WaitsForAvailableDialCapacity)`, slowStart},
		{"openai-go", Paced, `TestRetryAfterServerMinimum/.*over.*`, sentAgain},
		{"openai-go", "", `TestRetryAfterServerMinimum/.*|TestX509WorkloadIdentityInvalidationWakesObsoleteProactiveRetry`, held},
		{"openai-go", Paced, `TestExpiringCredentialsRefreshAcrossRetries|TestRetriesAreResigned|TestRuntimeRetriesRefreshAuthentication/.*`, resigned},
		{
			"openai-go", Paced,
			`Test(Delete|Overwrite)RetryCountHeader|TestRetryAfter(Ms)?|TestRetryAfterDelayEdgeCases/.*|` +
				`TestX509WebSocketRejectsRedirectsAndRedactsErrors/.*|` +
				`TestX509WorkloadIdentity(HonorsBoundedIssuerRetryAfter|SharesRetryBudgetAcrossMixedIssuerAPIAndUnauthorized)/.*|` +
				`TestX509WorkloadIdentity(FollowersUseTheirOwnRetryBudgets|RejectsExcessiveRetryAfter)/.*|` +
				`TestX509Exchange(ClosesOversizedRetryableMutualTLSResponses|PreservesOnlySafeBoundedRetryAfterDelays)/.*|` +
				`TestX509ExchangeReusesMutualTLSConnection(AfterRetryableStatus|AtChunkedErrorBoundary)/.*|` +
				`TestX509TransportPreservesCallerTLSConnectionVerification/.*`,
			sentAgain,
		},
		{
			"anthropic-sdk-go", Paced,
			`TestRefusalFallbackMiddleware.*|TestStreaming.*|TestOpenTelemetry.*|Test(Delete|Overwrite)RetryCountHeader`, adapted,
		},
		{
			"anthropic-sdk-go", Paced,
			`TestRetryAfter(Ms)?|TestSessionToolRunner_PrimaryThreadIDIsNotTakenFromTheLiveStreamAfterAFailedHistoryRead`,
			sentAgain,
		},
		{
			"elastic-transport", Paced, `TestMaxRetries/.*|TestNewClientPerform/Disable_retry|TestTransportPerformRetries/.*`, sentAgain,
		},
		{
			"elastic-transport", "", `TestInterceptors/.*`,
			"the test's transport returns an answer and an error together, which http.RoundTripper forbids; pacer returns the error alone",
		},
		{
			"elastic-transport", "", `TestNewClientTransport/Custom|TestTransport/Custom|TestWithTransport`,
			"the test sends a request without a Header, which pacer refuses, as net/http's Transport does",
		},
		{
			"eventsource", Paced,
			`TestStream(DoesNotRetryInitialConnectionByDefaultAfterNetworkError|CanRetryInitialConnectionUntilFiniteTimeout)|` +
				`TestStreamErrorHandlerCanPreventRetryOfInitialConnection`,
			sentAgain,
		},
		{
			"eventsource", Paced, `TestStreamErrorHandlerCanAllowRetryOfInitialConnectionAfterNetworkError`,
			sentAgain + "; it hangs, since it waits for an error that the client never sees",
		},
		{"eventsource", "", `TestStreamReadTimeout(IsPreventedByComment)?|TestServerHandlerCanEnforceMaxConnectionTime`, toMilliseconds},
		{"resty", "", `TestClientRetryWait.*`, toMilliseconds},
		{
			"mcp go-sdk", "",
			`TestServerTransportCleanup|TestStreamableSessionTimeout|TestServerSessionCloseWithActiveListen|` +
				`TestStreamableClientOAuth_CancelledAuthorize_NoReprompt`,
			toMilliseconds,
		},
		{
			"go-containerregistry", Paced, `TestMultiWrite_Retry/do_not_retry_.*|TestPingHttpFallback|TestTransportSelectionBearerAuthError`,
			sentAgain,
		},
		{
			"client-go", Paced,
			`TestRequest(Watch|Stream|WithRetry)/.*|TestRequestMaxRetries/.*|TestRequest(Do|Stream|Watch).*(InvokeOrder|BackoffAndMetrics)(/.*)?|` +
				`TestConnectionResetByPeerIsRetried|TestServerPreferredResourcesRetries`,
			sentAgain,
		},
		{
			"client-go", Paced, `TestRequest(Do|DoRaw|Stream|Watch)With(Retry|WrapPreviousError)(/.*)?`,
			sentAgain + ", in a list that is too short for that; the process dies",
		},
		{
			"client-go", Paced, `Test(RetryableConditions|RequestConcurrencyWithRetry)(/.*)?`,
			sentAgain + ", each time after a Retry-After of a second, for minutes in all",
		},
		{"client-go", "", `TestCheckRetryClosesBody`, held},
		{"client-go", "", `TestRestClientTimeout`, anyTransport + ": the text of the error is that of a client whose timer ends the call"},
		{"mcp go-sdk", Paced, `TestStreamableClientTransientErrors/Too_Many_Requests`, sentAgain + "; the second time it is served"},
		{"net/http/httputil", Paced, `TestReverseProxyCancellation`, cancelRequest},
		{"net/http/httputil", Paced, `TestReverseProxy_CopyBuffer`, sentAgain + "; the second time its handler blocks"},
		{"net/http", "", `TestClient(RedirectsContext|DoCanceledVsTimeout)/.*`, sameError},
		{"net/http", "", `TestClientTimeout(_Headers)?/.*`, anyTransport + ", at times: two timers race for the text of the error"},
		{"net/http", Paced, `TestTransportCancelRequest(InDial|(WithBody)?InDo).*`, cancelRequest},
		{
			"net/http", Paced,
			`Test(WriteHeader0|WriteDeadlineEnforcedPerStream|TimeoutHandler.*|ServerKeepAliveAfterWriteError)/.*|` +
				`TestOnProxyConnectResponse|TestDontCacheBrokenHTTP2Conn/.*`,
			sentAgain,
		},
		{"net/http", Paced, `TestProxyWithInfiniteHeader`, sentAgain + "; its proxy answers one connection, and the second hangs"},
		{
			"net/http", Paced, `Test(TransportResponseHeaderTimeout|TransportProxy(Get)?ConnectHeader|CancelRequestWhenSharingConnection)(/.*)?`,
			sentAgain + "; its handler waits until the test has heard of each request, and the test hears of one",
		},
	}
}

func (c Cause) of(suite string, d Difference) bool {
	return c.Suite == suite && (c.Mode == "" || c.Mode == d.Mode) && regexp.MustCompile("^(?:"+c.Tests+")$").MatchString(d.Test.Name)
}

// causeOf returns why there is a difference, empty if that is not known.
func causeOf(suite string, d Difference) string {
	for _, c := range Causes() {
		if c.of(suite, d) {
			return c.Why
		}
	}
	return ""
}

// unneeded returns the causes of a suite that explain none of the differences.
func unneeded(suite string, all []Difference) []Cause {
	return slices.DeleteFunc(Causes(), func(c Cause) bool {
		return c.Suite != suite || slices.ContainsFunc(all, func(d Difference) bool { return c.of(suite, d) })
	})
}
