package headers

// unseenSecond are answers that were gathered when the rules had been written, of services that none of the
// answers before is of. Their facts were written down before the package was run over them. Then 95.3 % of 320
// facts were right, and 4 wrong: the rate of a bucket as a limit of its own, the bucket as another one, what is
// left of money, and its reset.
var unseenSecond = []unseen{
	{
		service: "Gusto", source: "docs.gusto.com, added rate limit headers; instant moved", h: []string{"X-RateLimit-Limit", "200", "X-RateLimit-Remaining", "198", "X-RateLimit-Reset", "2026-03-02 05:01:00 -0700"},
		want: []string{"; 198; 200; ; 1m; -"},
	},
	{
		service: "lemlist", source: "developer.lemlist.com, rate limits; instant moved", h: []string{"Retry-After", "2", "X-RateLimit-Limit", "20", "X-RateLimit-Remaining", "7", "X-RateLimit-Reset", "Mon Mar 02 2026 13:00:02 GMT+0100 (Central European Standard Time)"},
		want: []string{"; 7; 20; ; 2s; -"}, retry: "2s",
	},
	{
		service: "Agent.ai", source: "docs.agent.ai/ratelimits", h: []string{"ratelimit-limit", "1000", "ratelimit-remaining", "999", "ratelimit-reset", "1772496000", "ratelimit-reset-date", "2026-03-03T00:00:00.000Z"},
		want: []string{"; 999; 1000; ; 12h; -"},
	},
	{
		service: "Pterodactyl", source: "pterodactyl-api-docs.netvpx.com", h: []string{"x-ratelimit-limit", "240", "x-ratelimit-remaining", "237"},
		want: []string{"; 237; 240; ; -; -"},
	},
	{
		service: "SAP Ariba", source: "help.sap.com, tracking your API usage", h: []string{"X-RateLimit-Limit-minute", "3", "X-RateLimit-Remaining-minute", "2", "X-RateLimit-Limit-hour", "50", "X-RateLimit-Remaining-hour", "48", "X-RateLimit-Limit-day", "300", "X-RateLimit-Remaining-day", "290"},
		want: []string{"minute; 2; 3; ; -; 1m", "hour; 48; 50; ; -; 1h", "day; 290; 300; ; -; 24h"},
	},
	{
		service: "Persona", source: "docs.withpersona.com, rate limiting", h: []string{"ratelimit-limit", "300", "ratelimit-remaining", "280", "ratelimit-reset", "53"},
		want: []string{"; 280; 300; ; 53s; -"},
	},
	{
		service: "WebScrapingAPI", source: "docs.webscrapingapi.com, custom response headers: what was used, in all and by this one",
		h: []string{"WSA-Call-Credit-Usage", "1", "WSA-Current-Credit-Usage", "1204"},
	},
	{
		service: "Smartsheet", source: "developers.smartsheet.com, throttling and rate limiting", status: 429, h: []string{"Date", "Wed, 28 Dec 2016 23:07:00 GMT", "X-RateLimit-Limit", "120", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1482966442"},
		want: []string{"; 0; 120; ; 22s; -"},
	},
	{
		service: "Qomon", source: "developers.qomon.com/rights-limiting", h: []string{"X-Ratelimit-Limit", "burst:100;rate:10", "X-Ratelimit-Remaining", "97", "X-Ratelimit-Cost", "1", "X-Ratelimit-ResetTime", "1"},
		want: []string{"; 97; ?100; ,tokens; ?1s; -"},
	},
	{
		service: "Omnisend", source: "api-docs.omnisend.com, rate limits", h: []string{"X-Rate-Limit-Limit", "400", "X-Rate-Limit-Remaining", "399", "X-Rate-Limit-Reset", "60"},
		want: []string{"; 399; 400; ; 1m; -"},
	},
	{
		service: "Bitvavo", source: "docs.bitvavo.com/docs/rate-limits, github text 71253020260", h: []string{"Date", "Wed, 23 Sep 2026 01:21:40 GMT", "bitvavo-ratelimit-limit", "1000", "bitvavo-ratelimit-remaining", "998", "bitvavo-ratelimit-resetat", "1790126520000"},
		want: []string{"; 998; 1000; ,weight; 20s; -"},
	},
	{
		service: "Miro", source: "developers.miro.com, rate limiting", h: []string{"X-RateLimit-Limit", "10000", "X-RateLimit-Remaining", "9950", "X-RateLimit-Reset", "1772452860"},
		want: []string{"; 9950; 10000; ,credits; 1m; -"},
	},
	{
		service: "API Freaks", source: "apifreaks.com/docs/concurrency-limits", h: []string{"X-Concurrent-Threads", "5", "X-Concurrent-Threads-Active", "2"},
		want: []string{"+concurrent; ?3; ?5; concurrent-requests; -; -"},
	},
	{
		service: "cloro", source: "docs.cloro.dev/concurrency", h: []string{"X-Concurrent-Limit", "20", "X-Concurrent-Current", "3", "X-Concurrent-Remaining", "17"},
		want: []string{"concurrent; 17; 20; concurrent-requests; -; -"},
	},
	{
		service: "Kombo", source: "docs.kombo.dev, concurrency limiting enforced", h: []string{"Concurrency-Remaining", "4"},
		want: []string{"+concurrency; 4; -; concurrent-requests; -; -"},
	},
	{
		service: "IBM Verify Access", source: "ibm.com/docs/en/sva, add-response-headers", h: []string{"X-Rate-Limit-Policy", "login-policy", "X-Rate-Limit-Remaining", "4", "X-Rate-Limit-Reset", "1772452830"},
		want: []string{"login-policy; 4; -; ; 30s; -"},
	},
	{
		service: "pyannote", source: "docs.pyannote.ai/ratelimits", status: 429, h: []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1772452842", "Retry-After", "42"},
		want: []string{"; 0; 100; ; 42s; -"}, retry: "42s",
	},
	{
		service: "JustCall", source: "github text 57816492507 (its documentation, quoted)", h: []string{"X-Rate-Limit-Limit", "1800", "X-Rate-Limit-Remaining", "1799", "X-Rate-Limit-Reset", "1772456400", "X-Rate-Limit-Burst-Limit", "30", "X-Rate-Limit-Burst-Remaining", "29", "X-Rate-Limit-Burst-Reset", "1772452860"},
		want: []string{"; 1799; 1800; ; 1h; -", "burst; 29; 30; ; 1m; -"},
	},
	{
		service: "SpaceTraders", source: "github text 46039799585 (its documentation)", status: 429, h: []string{"Date", "Sat, 21 Jan 2023 23:36:33 GMT", "retry-after", "1", "x-ratelimit-limit-burst", "10", "x-ratelimit-limit-per-second", "2", "x-ratelimit-remaining", "0", "x-ratelimit-reset", "2023-01-21T23:36:33.435Z", "x-ratelimit-type", "IP Address"},
		want: []string{"+IP Address; 0; -; ; ?435ms; -", "per-second; ?0; 2; ; ?435ms; 1s", "burst; ?0; 10; ; ?435ms; -"}, retry: "1s",
	},
	{
		service: "an oracle of prices", source: "github text 52741087880, instant moved: the next midnight", h: []string{"X-RateLimit-Limit-Per-Second", "20", "X-RateLimit-Remaining-Per-Second", "19", "X-RateLimit-Limit-Per-Day", "1000000", "X-RateLimit-Remaining-Per-Day", "999999", "X-RateLimit-Reset", "1772496000"},
		want: []string{"per-second; 19; 20; ; -; 1s", "per-day; 999999; 1000000; ; ?12h; 24h"},
	},
	{
		service: "a hub of integrations", source: "github text 9140515714, instants moved", h: []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "45", "X-RateLimit-Reset", "2026-03-02T12:10:00Z", "X-Quota-Limit", "10000", "X-Quota-Remaining", "8456", "X-Quota-Reset", "2026-04-01T00:00:00Z"},
		want: []string{"; 45; 100; ; 10m; -", "quota; 8456; 10000; ; 708h; -"},
	},
	{
		service: "a proxy of accounts", source: "github text 55366006248, instant moved", h: []string{"X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "842", "X-RateLimit-Reset", "1772496000", "X-Token-Quota-Limit", "5000000", "X-Token-Quota-Remaining", "3200000", "X-Token-Quota-Period-Remaining", "80%"},
		want: []string{"; 842; 1000; ; 12h; -", "token-quota; 3200000; 5000000; tokens; -; -", "+token-period; 80; ?100; percent; -; -"},
	},
	{
		service: "a maker of sandboxes", source: "github text 54894825604", status: 429, h: []string{"Retry-After", "60", "X-Quota-Limit", "5", "X-Quota-Current", "5", "X-Quota-Resource", "sandboxes"},
		want: []string{"sandboxes; 0; 5; *; -; -"}, retry: "1m",
	},
	{
		service: "StatusCake", source: "developers.statuscake.com, ratelimiting", h: []string{"x-ratelimit-limit", "5, 60;w=60, 5;w=1", "x-ratelimit-remaining", "4", "x-ratelimit-reset", "1"},
		want: []string{"; 4; 5; ; 1s; 1s", "; -; 60; ; -; 1m"},
	},
	{
		service: "Syntage", source: "docs.syntage.com, rate limiting", h: []string{"Date", "Sun, 29 Nov 2020 19:21:21 GMT", "X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "56", "X-RateLimit-Reset", "1606678044"},
		want: []string{"; 56; 60; ; 363s; -"},
	},
	{
		service: "Ship24", source: "docs.ship24.com/rate-limiter, instant moved", h: []string{"RateLimit-Limit", "10", "RateLimit-Remaining", "9", "RateLimit-Reset", "1", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "9", "X-RateLimit-Reset", "1772452801"},
		want: []string{"; 9; 10; ; 1s; -"},
	},
	{
		service: "Vega Protocol", source: "vegaprotocol/vega#7798 (captured): what remains counts the burst, too", h: []string{"Date", "Tue, 07 Mar 2023 16:11:37 GMT", "Ratelimit-Limit", "20", "Ratelimit-Remaining", "99", "Ratelimit-Reset", "1", "X-Block-Height", "282", "X-Block-Timestamp", "1678205496061161000", "X-Rate-Limit-Duration", "1", "X-Rate-Limit-Limit", "20.00", "X-Rate-Limit-Request-Remote-Addr", "127.0.0.1:53573"},
		want: []string{"; ?20; 20; ; 1s; ?1s"},
	},
	{
		service: "ePay.eu", source: "docs.epay.eu/guides/rate-limits", status: 429, h: []string{"Date", "Tue, 31 Dec 2024 23:59:48 GMT", "X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12", "X-RateLimit-Reset", "1735689600", "Retry-After", "5"},
		want: []string{"; 12; 60; ; 12s; -"}, retry: "5s",
	},
	{
		service: "FullContact", source: "gist.github.com/danklynn/5246620 (captured)", h: []string{"Date", "Tue, 26 Mar 2013 15:58:14 GMT", "X-Rate-Limit-Limit", "600", "X-Rate-Limit-Remaining", "598", "X-Rate-Limit-Reset", "46"},
		want: []string{"; 598; 600; ; 46s; -"},
	},
	{
		service: "Xweather", open: "what is left of a period is a limit that is called so, and so is its limit", source: "xweather.com/docs, rate limiting; github text 60488524704", h: []string{"x-cost-tokens", "10", "x-ratelimit-limit-period", "15000", "x-ratelimit-remaining-period", "14990", "x-ratelimit-reset-period", "12345", "x-ratelimit-limit-period-type", "month"},
		want: []string{"period; 14990; 15000; *; ?12345s; ?month"},
	},
	{
		service: "Xweather", open: "what is left of a period is a limit that is called so, and so is its limit", source: "xweather.com/docs, rate limiting", h: []string{"X-RateLimit-Limit-Minute", "100", "X-RateLimit-Remaining-Minute", "99", "X-RateLimit-Limit-Period", "15000", "X-RateLimit-Remaining-Period", "14990"},
		want: []string{"minute; 99; 100; ; -; 1m", "period; 14990; 15000; *; -; ?month"},
	},
	{
		service: "Clearbit", source: "clearbit/clearbit-ruby#6", h: []string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4050", "X-RateLimit-Reset", "3300"},
		want: []string{"; 4050; 5000; ; 55m; -"},
	},
	{
		service: "Prediction Hunt", source: "github text 52979933149", h: []string{"X-RateLimit-Limit-Second", "10", "X-RateLimit-Remaining-Second", "9", "X-RateLimit-Limit-Month", "1000", "X-RateLimit-Remaining-Month", "842"},
		want: []string{"second; 9; 10; ; -; 1s", "month; 842; 1000; ; -; ?month"},
	},
	{
		service: "beaconcha.in", source: "github text 37131982834", h: []string{"x-ratelimit-limit-day", "10000", "x-ratelimit-limit-hour", "10000", "x-ratelimit-limit-minute", "20", "x-ratelimit-limit-month", "80000", "x-ratelimit-limit-second", "20", "x-ratelimit-remaining-day", "9998", "x-ratelimit-remaining-hour", "9998", "x-ratelimit-remaining-minute", "19", "x-ratelimit-remaining-month", "79998", "x-ratelimit-remaining-second", "19"},
		want: []string{"day; 9998; 10000; ; -; 24h", "hour; 9998; 10000; ; -; 1h", "minute; 19; 20; ; -; 1m", "month; 79998; 80000; ; -; ?month", "second; 19; 20; ; -; 1s"},
	},
	{
		service: "an analysis of files", open: "a period belongs to what is left of requests, and a value is how much there is", source: "github text 15738170256 (its documentation)", h: []string{"X-Rate-Limit-Value", "100", "X-Rate-Limit-Period", "900", "X-Rate-Limit-Requests-Left", "52", "X-Rate-Limit-End", "0"},
		want: []string{"; 52; ?100; ; -; 15m"},
	},
	{
		service: "a lookup of users", source: "github text 44044384216, instant moved", h: []string{"X-Cache", "MISS", "X-Credits-Used", "100", "X-Credits-Remaining", "900", "X-RateLimit-Limit", "1", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "2026-03-02T12:00:30.000Z"},
		want: []string{"; 0; 1; ; 30s; -", "credits; 900; ?1000; credits; -; -"},
	},
	{
		service: "a renderer", open: "credits that are left are a limit without more words", source: "github text 53874427843", h: []string{"X-Credits-Remaining", "142", "X-Credits-Reserved", "60", "X-Quota-Renders-Used", "7", "X-Quota-Renders-Limit", "30", "X-Quota-Reset", "2026-04-01T00:00:00Z"},
		want: []string{"credits; 142; -; credits; -; -", "renders; 23; 30; *; ?708h; -"},
	},
	{
		service: "Dexto", source: "github text 46892397045: credits are cents", h: []string{"X-Dexto-Credits-Remaining", "4200", "X-Dexto-Cost-Cents", "3", "X-Dexto-RateLimit-Remaining", "58"},
		want: []string{"; 58; -; ; -; -", "+credits; 4200; -; credits; -; -"},
	},
	{
		service: "Microsoft dev tunnels", source: "github text 71240661692 (captured)", h: []string{"RateLimit-Limit", "HttpRequestRatePerPort:1500/m", "RateLimit-Remaining", "HttpRequestRatePerPort:1499", "RateLimit-Reset", "HttpRequestRatePerPort:14s", "x-ms-ratelimit-limit", "", "x-ms-ratelimit-remaining", "", "x-ms-ratelimit-used", "1", "x-ms-ratelimit-reset", ""},
		want: []string{"HttpRequestRatePerPort; 1499; 1500; ; 14s; 1m"},
	},
	{
		service: "OpenChoreo", source: "github text 52116918636 (captured)", h: []string{"Date", "Wed, 18 Feb 2026 10:06:32 GMT", "X-RateLimit-Remaining-Minute", "596", "X-RateLimit-Limit-Minute", "600", "RateLimit-Remaining", "596", "RateLimit-Reset", "28", "RateLimit-Limit", "600", "Server", "kong/3.9.1"},
		want: []string{"; 596; 600; ; 28s; 1m"},
	},
	{
		service: "PyPI", source: "github text 70880331198", status: 429, h: []string{"Ratelimit-Policy", `"project.create.user";q=4;w=86400;pk=:user:`},
		want: []string{"project.create.user; ?0; 4; ; -; 24h"},
	},
	{
		service: "axum-governor", source: "github text 57005170023", status: 429, h: []string{"RateLimit", `"peer";r=0;t=1`, "RateLimit-Policy", `"peer";q=10;w=1, "auth";q=600;w=60`},
		want: []string{"peer; 0; 10; ; 1s; 1s", "auth; -; 600; ; -; 1m"},
	},
	{
		service: "Railway", source: "github text 68653086483", h: []string{"ratelimit-policy", `"default";q=1000;w=3600`},
		want: []string{"default; -; 1000; ; -; 1h"},
	},
	{
		service: "an exchange of signals", source: "github text 39531321090: the interval is in ms", h: []string{"Date", "Thu, 05 Dec 2024 17:29:24 GMT", "x-rate-limit-interval", "1000", "x-rate-limit-limit", "25", "x-rate-limit-remaining", "24", "x-rate-limit-reset", "1733419765156"},
		want: []string{"; 24; 25; ; 1156ms; ?1s"},
	},
	{
		service: "a meter of calls", source: "github text 21990443445", h: []string{"X-Tier", "trial", "X-Tier-Status", "active", "X-API-Calls-Used", "42", "X-API-Calls-Limit", "100", "X-API-Calls-Remaining", "58"},
		want: []string{"api-calls; 58; 100; ; -; -"},
	},
	{
		service: "a client of throttles", source: "github text 42467445243", h: []string{"X-Throttle-Limit-Total", "250", "X-Throttle-Limit-Remaining", "154"},
		want: []string{"throttle; 154; 250; ; -; -"},
	},
	{
		service: "a server of slots", source: "github text 63475330291: of what is under way", status: 503, h: []string{"Retry-After", "1", "X-Throttle-Limit", "64"},
		want: []string{"+throttle; -; 64; *; -; -"}, retry: "1s",
	},
	{
		service: "a throttle of ASGI", source: "github text 52583292781: the delay was served", h: []string{"x-throttle-remaining", "7", "x-throttle-limit", "10", "x-throttle-window", "60", "x-throttle-delay", "0.25"},
		want: []string{"throttle; 7; 10; ; -; 1m"},
	},
	{
		service: "Roxy", source: "github text 70207115851", status: 429, h: []string{"Retry-After", "12", "Roxy-Throttle-Reset", "12", "Roxy-Throttled", "True", "Roxy-Requests-Left", "0"},
		want: []string{"; 0; -; ; ?12s; -"}, retry: "12s",
	},
	{
		service: "a converter of pages", source: "github text 57617666223", h: []string{"X-Markdown-Tokens", "1234", "X-Browser-Ms-Used", "1842", "X-RateLimit-Remaining-Day", "999", "X-RateLimit-Remaining-Month", "24999"},
		want: []string{"day; 999; -; ; -; 24h", "month; 24999; -; ; -; ?month"},
	},
	{
		service: "a coverage of sports", source: "github text 25105559978, instants moved", h: []string{"X-RateLimit-Remaining-Minute", "87", "X-RateLimit-Remaining-Month", "62340", "X-RateLimit-Reset-Minute", "1772452860", "X-RateLimit-Reset-Month", "2026-04-01T00:00:00.000Z"},
		want: []string{"minute; 87; -; ; 1m; 1m", "month; 62340; -; ; 708h; ?month"},
	},
	{
		service: "a proxy of candidates", source: "github text 66857954786", h: []string{"X-RateLimit-Remaining-Burst", "14", "X-RateLimit-Limit-Burst", "15", "X-RateLimit-Remaining-Hourly", "74", "X-RateLimit-Limit-Hourly", "75", "X-RateLimit-Remaining-Daily", "149", "X-RateLimit-Limit-Daily", "150"},
		want: []string{"burst; 14; 15; ; -; -", "hourly; 74; 75; ; -; 1h", "daily; 149; 150; ; -; 24h"},
	},
	{
		service: "a middleware of Django", source: "github text 41417067142, instants moved", h: []string{"X-RateLimit-Limit-Hourly", "1000", "X-RateLimit-Remaining-Hourly", "987", "X-RateLimit-Reset-Hourly", "1772454900", "X-RateLimit-Limit-Burst", "20", "X-RateLimit-Remaining-Burst", "18", "X-RateLimit-Reset-Burst", "1772452830"},
		want: []string{"hourly; 987; 1000; ; 35m; 1h", "burst; 18; 20; ; 30s; -"},
	},
	{
		service: "a builder of sites", source: "github text 55643064485, instants moved", h: []string{"X-RateLimit-Limit-Burst", "60", "X-RateLimit-Remaining-Burst", "47", "X-RateLimit-Reset-Burst", "1772452813", "X-RateLimit-Limit-Sustained", "600", "X-RateLimit-Remaining-Sustained", "412", "X-RateLimit-Reset-Sustained", "1772453253"},
		want: []string{"burst; 47; 60; ; 13s; -", "sustained; 412; 600; ; 453s; -"},
	},
	{
		service: "a proxy with budgets", source: "github text 70539294077, instant moved: the minute's", h: []string{"X-RateLimit-Requests-Limit", "60", "X-RateLimit-Requests-Remaining", "42", "X-RateLimit-Tokens-Limit", "100000", "X-RateLimit-Tokens-Remaining", "87500", "X-RateLimit-Budget-Daily-USD", "50.00", "X-RateLimit-Budget-Remaining-USD", "38.42", "X-RateLimit-Reset", "1772452824"},
		want: []string{"requests; 42; 60; ; ?24s; -", "tokens; 87500; 100000; tokens; ?24s; -", "+budget-usd; -; ?50; usd; -; ?24h"},
	},
	{
		service: "a scanner of links", source: "github text 61405784202, 70220953948; instant moved", h: []string{"x-daily-limit", "25", "x-daily-used", "3", "x-daily-remaining", "22", "x-daily-reset", "1772496000"},
		want: []string{"daily; 22; 25; ; 12h; 24h"},
	},
	{
		service: "a free plan", source: "github text 59748235258", status: 429, h: []string{"Retry-After", "86400", "X-Daily-Limit", "20", "X-Daily-Used", "20"},
		want: []string{"daily; 0; 20; ; -; 24h"}, retry: "24h",
	},
	{
		service: "a router with quotas", source: "github text 59103757133: tokens that were used, of a period", status: 429, h: []string{"Retry-After", "43200", "X-Quota-Scope", "user", "X-Quota-Tokens", "120000", "X-Quota-Cost-KRW", "3400", "X-Quota-Period-Start", "2026-03-02T00:00:00Z", "X-Quota-Period-End", "2026-03-03T00:00:00Z"},
		retry: "12h",
	},
	{
		service: "a gateway of vendors", source: "github text 68355508735: the period is September", h: []string{"X-Quota-Limit", "2000", "X-Quota-Used", "417", "X-Quota-Remaining", "1583", "X-Quota-Period", "2026-09"},
		want: []string{"quota; 1583; 2000; ; -; ?month"},
	},
	{
		service: "a plugin of quotas", source: "github text 4532811845, instant moved", h: []string{"X-Quota-Limit", "10000", "X-Quota-Used", "2500", "X-Quota-Remaining", "7500", "X-Quota-Reset", "1775001600", "X-Quota-Period", "Monthly"},
		want: []string{"quota; 7500; 10000; ; 708h; ?month"},
	},
	{
		service: "AgenticX", source: "github text 57524028624, instant moved", h: []string{"X-AgenticX-Quota-Period", "2026-03-02", "X-AgenticX-Quota-Reset-At", "2026-03-03T00:00:00Z"},
		want: []string{"+; -; -; ; 12h; -"},
	},
	{
		service: "a meter of billing", source: "github text 66546963955", h: []string{"X-Quota-Limit", "500", "X-Quota-Remaining", "12", "X-Quota-Period-Start", "2026-03-01T00:00:00Z"},
		want: []string{"quota; 12; 500; ; -; -"},
	},
	{
		service: "ListenBrainz", source: "github text 66642694240 (measured)", h: []string{"X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "26", "X-RateLimit-Reset-In", "5"},
		want: []string{"; 26; 30; ; 5s; -"},
	},
	{
		service: "a CRM of PHP", source: "github text 5822867190 (captured)", h: []string{"Date", "Wed, 07 Dec 2016 11:13:54 GMT", "X-RateLimit-Limit", "200", "X-RateLimit-Remaining", "197", "X-RateLimit-Reset", "1481109294", "X-RateLimit-Reset-In", "60 seconds", "X-Runtime", "0.082388"},
		want: []string{"; 197; 200; ; 1m; -"},
	},
	{
		service: "an app of calls", source: "github text 36519890171", h: []string{"X-RateLimit-Remaining", "2", "X-RateLimit-Reset-In", "52000"},
		want: []string{"; 2; -; ; 52000s; -"},
	},
	{
		service: "a platform of jobs", source: "github text 25431834355, instant moved", h: []string{"X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "750", "X-RateLimit-Reset", "2026-03-02T12:11:11Z", "X-RateLimit-Reset-In", "671"},
		want: []string{"; 750; 1000; ; 671s; -"},
	},
	{
		service: "DigitalOcean inference", source: "github text 55026769191, 68377803433 (measured); instant moved", h: []string{"x-ratelimit-limit-tokens-per-day", "5000000", "x-ratelimit-remaining-tokens-per-day", "4999000", "x-ratelimit-limit-tokens-per-minute", "100000", "x-ratelimit-remaining-tokens-per-minute", "99000", "x-ratelimit-limit-requests", "120", "x-ratelimit-remaining-requests", "119", "x-ratelimit-reset-requests", "1772452830"},
		want: []string{"tokens-per-day; 4999000; 5000000; tokens; -; 24h", "tokens-per-minute; 99000; 100000; tokens; -; 1m", "requests; 119; 120; ; 30s; -"},
	},
	{
		service: "an API of spaces", source: "github text 57367458943", h: []string{"X-Limit-Remaining", "597"},
		want: []string{"+limit; 597; -; ; -; -"},
	},
	{
		service: "a course's API", source: "github text 47340939930", status: 429, h: []string{"retry-after", "30", "x-limit-remaining", "0"},
		want: []string{"+limit; 0; -; ; -; -"}, retry: "30s",
	},
	{
		service: "GeoServer", source: "github text 360178094 (its documentation)", h: []string{"Date", "Fri, 24 Dec 2004 20:20:06 GMT", "X-Rate-Limit-Context", "Any OGC request", "X-Rate-Limit-Limit", "10", "X-Rate-Limit-Remaining", "9", "X-Rate-Limit-Reset", "1103919616", "X-Rate-Limit-Action", "Delay excess requests 1000ms"},
		want: []string{"; 9; 10; ; 10s; -"},
	},
	{
		service: "Luke GeoServer", source: "github text 68906455956 (measured)", h: []string{"x-concurrent-limit-user", "6", "x-concurrent-requests-user", "2"},
		want: []string{"+user; ?4; ?6; concurrent-requests; -; -"},
	},
	{
		service: "Neuralwatt", source: "github text 55325757054", status: 429, h: []string{"Retry-After", "0", "X-Concurrent-Limit-Dimension", "user", "X-Concurrent-Limit-Active", "6", "X-Concurrent-Limit-Max", "5"},
		want: []string{"concurrent; 0; 5; concurrent-requests; -; -"}, retry: "?0s",
	},
	{
		service: "LearnUpon", source: "github text 63265455430 (its documentation)", h: []string{"X-LU-Rate-Limit-Remaining-Minute", "118", "X-LU-Rate-Limit-Remaining-Week", "9990"},
		want: []string{"minute; 118; -; ; -; 1m", "week; 9990; -; ; -; 168h"},
	},
	{
		service: "OpenDota", source: "github text 24741323265", h: []string{"X-Rate-Limit-Remaining-Minute", "58", "X-Rate-Limit-Remaining-Day", "1998"},
		want: []string{"minute; 58; -; ; -; 1m", "day; 1998; -; ; -; 24h"},
	},
	{
		service: "OpenDota", source: "github text 70254803999", status: 429, h: []string{"X-Rate-Limit-Remaining-Minute", "-1", "Date", "Sun, 04 Oct 2026 12:00:45 GMT"},
		want: []string{"+minute; ?0; -; ; -; 1m"},
	},
	{
		service: "Trackstar", source: "docs.trackstarhq.com, about the API; instant moved", status: 429, h: []string{"x-rate-limit-limit", "10", "x-rate-limit-remaining", "0", "x-rate-limit-reset", "1772452801", "x-rate-limit-retry-after", "1"},
		want: []string{"; 0; 10; ; 1s; -"}, retry: "1s",
	},
	{
		service: "Boom", source: "docs.useboom.ai, rate limits: epoch ms; instant moved", h: []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "99", "X-RateLimit-Reset", "1772452860123"},
		want: []string{"; 99; 100; ; 60123ms; -"},
	},
	{
		service: "Erysta", source: "docs.erysta.ru, rate limits; instant moved", h: []string{"X-RateLimit", "100", "X-RateLimit-Remaining", "99", "X-RateLimit-Reset", "1772452860"},
		want: []string{"; 99; 100; ; 1m; -"},
	},
	{
		service: "Umbrella", source: "tornado.umbrellanet.ch, rate limits", status: 429, h: []string{"X-Rate-Limit-Remaining", "0", "X-Rate-Limit-Retry-After", "12"},
		want: []string{"; 0; -; ; -; -"}, retry: "12s",
	},
	{
		service: "a guard of microservices", source: "github text 12877617556, instant moved", h: []string{"X-Ratelimit-Limit", "100", "X-Ratelimit-Remaining", "99", "X-Ratelimit-Reset", "1772452860", "X-Ratelimit-Policy", "100 requests per 60 seconds", "X-Rate-Limit-Context", "users"},
		want: []string{"; 99; 100; ; 1m; ?1m"},
	},
	{
		service: "a game of orders", source: "github text 55106718286, instant moved", h: []string{"X-RateLimit-Tier", "free", "X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "27", "X-RateLimit-Reset", "1772452805", "X-RateLimit-Cost", "1"},
		want: []string{"; 27; 30; ; 5s; -"},
	},
	{
		service: "a matcher of profiles", source: "github text 67584486984, instant moved", h: []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "95", "X-RateLimit-Reset", "1772452860", "X-RateLimit-Cost", "0.0008"},
		want: []string{"; 95; 100; ; 1m; -"},
	},
	{
		service: "a limiter of costs", source: "github text 24850884946", h: []string{"X-RateLimit-Limit", "1000 (tokens)", "X-RateLimit-Remaining", "800", "X-RateLimit-Cost", "50 (this request)"},
		want: []string{"; 800; ?1000; ,tokens; -; -"},
	},
	{
		service: "a limiter of layers", source: "github text 59698954962, instant moved", status: 429, h: []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1772452860", "X-RateLimit-Layer", "tenant", "X-RateLimit-Exceeded-By", "key", "X-RateLimit-Cost", "10"},
		want: []string{"; 0; 100; ; 1m; -"},
	},
	{
		service: "a gateway of Ruby", source: "github text 48018856179", h: []string{"X-DailyQuota-Limit", "unlimited", "X-DailyQuota-Remaining", "unlimited", "X-Concurrent-Limit", "5", "X-Concurrent-Current", "2"},
		want: []string{"concurrent; 3; 5; concurrent-requests; -; -"},
	},
	{
		service: "a renderer of pages", source: "github text 53548971154", status: 429, h: []string{"X-Concurrent-Limit", "5", "X-Concurrent-Active", "5"},
		want: []string{"concurrent; 0; 5; concurrent-requests; -; -"},
	},
	{
		service: "a limiter of files", source: "github text 55045520555", status: 429, h: []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1772452842", "X-RateLimit-Window", "60", "Retry-After", "42"},
		want: []string{"; 0; 60; ; 42s; 1m"}, retry: "42s",
	},
	{
		service: "LimitRate", source: "github text 24264043361", h: []string{"Date", "Mon, 04 Nov 2024 11:33:08 GMT", "RateLimit-Limit", "60", "RateLimit-Remaining", "45", "RateLimit-Reset", "1730720018"},
		want: []string{"; 45; 60; ; 30s; -"},
	},
	{
		service: "a GCRA of Python", source: "github text 342495228, instants moved", h: []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "9", "X-RateLimit-Reset", "12.345", "X-RateLimit-Reset-date", "2026-03-02 12:00:12.345000", "Now", "1772452800.0", "Now-date", "2026-03-02 12:00:00"},
		want: []string{"; 9; 10; ; 12345ms; -"},
	},
	{
		service: "a processor of invoices", source: "github text 53090944646", h: []string{"X-RateLimit-Limit", "50", "X-RateLimit-Remaining", "49", "X-RateLimit-Used", "1", "X-RateLimit-Reset-Date", "2026-03-03"},
		want: []string{"; 49; 50; ; ?12h; -"},
	},
	{
		service: "a plan of AI", source: "github text 7038862295, instants moved", h: []string{"X-RateLimit-Limit", "200", "X-RateLimit-Remaining", "155", "X-RateLimit-Reset", "1775001600", "X-RateLimit-Reset-Date", "2026-04-01T00:00:00Z"},
		want: []string{"; 155; 200; ; 708h; -"},
	},
	{
		service: "SkuVault", source: "dev.skuvault.com, X-RateLimit-Reset in ms", unknowable: true, status: 429, h: []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "45210"},
		want: []string{"; 0; 10; ; 45210ms; -"},
	},
}

// unseenThird are answers of yet other services, gathered after what the second ones showed was mended. At
// first 99 % of 104 facts were right, and one was wrong: a disk of 1 GiB was one of requests.
var unseenThird = []unseen{
	{
		service: "a seller of quotes", source: "github text 67337837153, instant moved", h: []string{"X-Quota-Limit", "25", "X-Quota-Used", "12", "X-Quota-Reset", "2026-04-01T00:00:00Z"},
		want: []string{"quota; 13; 25; ; 708h; -"},
	},
	{
		service: "an extractor of documents", source: "github text 142263459, instants moved", h: []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "45", "X-RateLimit-Reset", "1772452860", "X-Quota-Limit", "10000", "X-Quota-Used", "2847", "X-Quota-Reset", "1775001600"},
		want: []string{"; 45; 100; ; 1m; -", "quota; 7153; 10000; ; 708h; -"},
	},
	{
		service: "a signal of sales", source: "github text 53929329129", status: 429, h: []string{"X-Quota-Used", "5", "X-Quota-Limit", "5"},
		want: []string{"quota; 0; 5; ; -; -"},
	},
	{
		service: "a redactor", source: "github text 56502235767, instant moved", h: []string{"X-Quota-Used", "47", "X-Quota-Limit", "1000", "X-Quota-Resets-At", "2026-03-28T00:00:00Z", "X-Ratelimit-Remaining", "58", "X-Ratelimit-Reset", "12"},
		want: []string{"quota; 953; 1000; ; 612h; -", "; 58; -; ; 12s; -"},
	},
	{
		service: "a store of images", source: "github text 66712727258, instant moved: the quota is of a disk", h: []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "95", "X-RateLimit-Reset", "1772452860", "X-Quota-Used", "52428800", "X-Quota-Total", "1073741824"},
		want: []string{"; 95; 100; ; 1m; -", "+quota; 1021313024; 1073741824; bytes,content-bytes; -; -"},
	},
	{
		service: "Vendus", source: "github text 56181028783 (its documentation): used by this request", h: []string{"Rate-Limit-Limit", "100", "Rate-Limit-Remaining", "87", "Rate-Limit-Used", "1", "Rate-Limit-Reset", "20"},
		want: []string{"; 87; 100; ; 20s; -"},
	},
	{
		service: "a limiter of Koa", source: "github text 6183670470", h: []string{"Date", "Fri, 17 Jul 2020 14:14:04 GMT", "Rate-Limit-Remaining", "99", "Rate-Limit-Reset", "1594995284.865749", "Rate-Limit-Total", "100"},
		want: []string{"; 99; 100; ; 40865ms; -"},
	},
	{
		service: "V2EX", source: "github text 4621163100 (captured): from a cache", h: []string{"Date", "Mon, 25 Jan 2021 02:14:28 GMT", "X-Rate-Limit-Remaining", "119", "X-Rate-Limit-Reset", "1611543600", "X-Rate-Limit-Limit", "120", "CF-Cache-Status", "HIT", "Age", "2568"},
	},
	{
		service: "a food API of RapidAPI", source: "github text 13037691536, 35702514340 (names)", h: []string{"X-Ratelimit-Classifications-Limit", "500", "X-Ratelimit-Classifications-Remaining", "499", "X-Ratelimit-Requests-Limit", "500", "X-Ratelimit-Requests-Remaining", "498", "X-Ratelimit-Tinyrequests-Limit", "5000", "X-Ratelimit-Tinyrequests-Remaining", "4997", "x-ratelimit-results-limit", "5001", "x-ratelimit-results-remaining", "4981"},
		want: []string{"classifications; 499; 500; *; -; -", "requests; 498; 500; ; -; -", "tinyrequests; 4997; 5000; *; -; -", "results; 4981; 5001; *; -; -"},
	},
	{
		service: "Mere", source: "github text 68460967640 (its documentation), instants moved", h: []string{"mere-x-ratelimit-requests-limit", "8000", "mere-x-ratelimit-requests-remaining", "7913", "mere-x-ratelimit-requests-reset", "2026-03-02T12:00:30Z", "mere-x-ratelimit-tokens-limit", "4000000", "mere-x-ratelimit-tokens-remaining", "3120400", "mere-x-ratelimit-tokens-reset", "2026-03-02T12:00:30Z", "retry-after", "12"},
		want: []string{"requests; 7913; 8000; ; 30s; -", "tokens; 3120400; 4000000; tokens; 30s; -"}, retry: "12s",
	},
	{
		service: "a gateway of teams", source: "github text 55158332843, instant moved", status: 429, h: []string{"Retry-After", "43200", "X-RateLimit-Tokens-Limit", "100000", "X-RateLimit-Tokens-Remaining", "0", "X-RateLimit-Tokens-Reset", "1772496000"},
		want: []string{"tokens; 0; 100000; tokens; 12h; -"}, retry: "12h",
	},
	{
		service: "Oort", source: "github text 58057895629, instant moved", h: []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "42", "X-RateLimit-Reset", "1772452860", "X-RateLimit-Tokens-Remaining", "150000", "X-RateLimit-Tokens-Reset", "1772452860"},
		want: []string{"; 42; 60; ; 1m; -", "tokens; 150000; -; tokens; 1m; -"},
	},
	{
		service: "a roadmap of tokens", source: "github text 52480754607: used by this request, or in all", h: []string{"X-RateLimit-Tokens-Used", "2100", "X-RateLimit-Tokens-Limit", "1000000", "X-RateLimit-Tokens-Reset", "3600"},
		want: []string{"tokens; ?997900; 1000000; tokens; 1h; -"},
	},
	{
		service: "a mesh of neurons", source: "github text 39788538726, instant moved", h: []string{"X-RateLimit-Limit", "10000", "X-RateLimit-Remaining", "9876", "X-RateLimit-Reset", "1772456400", "X-RateLimit-Burst-Limit", "200", "X-RateLimit-Burst-Remaining", "195", "Retry-After", "3600"},
		want: []string{"; 9876; 10000; ; 1h; -", "burst; 195; 200; ; ?1h; -"}, retry: "1h",
	},
	{
		service: "a cache of users", source: "github text 45998601324", h: []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "7", "X-RateLimit-Burst-Limit", "5", "X-RateLimit-Burst-Remaining", "3"},
		want: []string{"; 7; 10; ; -; -", "burst; 3; 5; ; -; -"},
	},
	{
		service: "a guide to bursts", source: "github text 1586964039, instant moved", status: 429, h: []string{"X-RateLimit-Burst-Limit", "10", "X-RateLimit-Burst-Remaining", "0", "X-RateLimit-Burst-Reset", "1772452810"},
		want: []string{"burst; 0; 10; ; 10s; -"},
	},
	{
		service: "a tier of endpoints", source: "github text 59159704976", status: 429, h: []string{"X-RateLimit-Retry-After", "1800", "X-RateLimit-Burst-Limit", "100", "X-RateLimit-Burst-Remaining", "45", "X-RateLimit-Endpoint-Limit", "50", "X-RateLimit-Endpoint-Remaining", "30"},
		want: []string{"burst; 45; 100; ; -; -", "endpoint; 30; 50; ; -; -"}, retry: "30m",
	},
	{
		service: "an index of economies", source: "github text 60587044475", h: []string{"X-RateLimit-Limit-Credits", "100000", "X-RateLimit-Remaining-Credits", "99985", "X-RateLimit-Tier", "pro", "X-RateLimit-Request-Cost", "15"},
		want: []string{"credits; 99985; 100000; credits; -; -"},
	},
	{
		service: "a throttle that fills", source: "github text 58714617846", h: []string{"x-burst-throttle-calls-left", "12", "x-burst-throttle-seconds-until-full", "30"},
		want: []string{"+burst; 12; -; ; ?30s; -"},
	},
	{
		service: "Plant.id", source: "github text 54522061416", h: []string{"x-limit-requests-remaining", "87"},
		want: []string{"+requests; 87; -; ; -; -"},
	},
	{
		service: "an issuer of tokens", source: "github text 66830207065", status: 429, h: []string{"RateLimit", "limit=20, reset=37", "RateLimit-Policy", "20;w=60", "Retry-After", "37"},
		want: []string{"; ?0; 20; ; 37s; 1m"}, retry: "37s",
	},
	{
		service: "a book of tenants", source: "github text 9107120770", h: []string{"RateLimit", "limit=5000, remaining=4999, reset=3600", "RateLimit-Policy", `5000;w=3600;tenant="acme-corp"`},
		want: []string{"; 4999; 5000; ; 1h; 1h"},
	},
	{
		service: "a market of listings", source: "github text 53434866669", h: []string{"RateLimit", "limit=60, remaining=59, reset=30", "RateLimit-Policy", `60;w=60;policy="ip"`},
		want: []string{"; 59; 60; ; 30s; 1m"},
	},
	{
		service: "a league of teams", source: "github text 41141222984 (captured)", h: []string{"x-page", "1", "x-per-page", "12", "x-rate-limit-remaining", "998", "x-rate-limit-used", "2", "x-total", "1785"},
		want: []string{"; 998; ?1000; ; -; -"},
	},
	{
		service: "a search of models", source: "github text 26616791150, instant moved", h: []string{"X-Rate-Limit-Limit", "60", "X-Rate-Limit-Remaining", "45", "X-Rate-Limit-Reset", "1772452860", "X-Rate-Limit-Used", "15", "X-Rate-Limit-Resource", "search"},
		want: []string{"search; 45; 60; ; 1m; -"},
	},
	{
		service: "a pilot of guards", source: "github text 25043265728, instant moved", h: []string{"X-RateLimit-Limit", "120", "X-RateLimit-Remaining", "117", "X-RateLimit-Reset", "1772452860", "X-Quota-Limit", "500", "X-Quota-Used", "15", "X-Quota-Remaining", "485", "X-Response-Time-Ms", "150", "X-Pilot-Mode", "true", "X-Guards", "rate-limit,soft-quota"},
		want: []string{"; 117; 120; ; 1m; -", "quota; 485; 500; ; -; -"},
	},
}
