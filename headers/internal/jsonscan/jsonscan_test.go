package jsonscan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// scanned returns what Scan visits of a text, up to a depth.
func scanned(text string, depth int) (visits []string, whole bool) {
	whole = Scan([]byte(text), func(path []byte) bool { return bytes.Count(path, []byte("/")) < depth }, func(path, value []byte) {
		if value == nil {
			visits = append(visits, string(path))
		} else {
			visits = append(visits, fmt.Sprintf("%s=%q", path, value))
		}
	})
	return visits, whole
}

func TestScanner(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string
	}{
		{`{"a":1,"b":"x","c":true,"d":null}` + " ", `a="1" b="x" c="true" d="null"`},
		{` { "a" : [ 1 , {"b":2} , [3] ] } `, `a/* a/*="1" a/* a/*/b="2" a/* a/*/* a/*/*="3"`},
		{`{"a":{"b":{"c":{"d":{"e":1}}}},"z":2} `, `z="2"`}, // deeper than anybody asks
		{`{"a":"\"\\\/\u00e9","\u0062":""} `, `a="\"\\/é" b=""`},
		{`{"a":[],"b":{},"c":1} `, `c="1"`},
		{`{"a":1,"b":12`, `a="1"`},
		{`{"a":1,"b":"x`, `a="1"`},
		{`{"a":1,"b":"x\`, `a="1"`},
		{`{"a":1 "b":2}`, `a="1"`},
		{`{"a":1,}`, `a="1"`},
		{`{a:1}`, ``},
		{`{"a" 1}`, ``},
		{`[1 2]`, `* *="1"`},
		{`[1}`, `* *="1"`},
		{`{"a":]}`, ``},
		{`{"a":{]},"b":1}`, ``},
		{``, ``},
		{"\x00", ``},
	} {
		visits, _ := scanned(tt.text, 4)
		if got := strings.Join(visits, " "); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

// reference returns what Scan should visit of a valid text, by way of encoding/json.
func reference(t *testing.T, text string, depth int) (visits []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var walk func(path string, wanted bool)
	walk = func(path string, wanted bool) {
		wanted = wanted && strings.Count(path, "/") < depth
		note := func(visit string) {
			if wanted {
				visits = append(visits, visit)
			}
		}
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch v := token.(type) {
		case json.Delim:
			for d.More() {
				key, ok := "*", true
				if v == '{' {
					k, err := d.Token()
					if err != nil {
						t.Fatal(err)
					}
					key = k.(string)
					ok = !strings.ContainsAny(key, "/*")
				}
				ok = ok && wanted && len(path)+len(key) < maxPath
				member := path + "/" + key
				if path == "" {
					member = key
				}
				if v == '[' && ok && strings.Count(member, "/") < depth {
					visits = append(visits, member)
				}
				walk(member, ok)
			}
			if _, err := d.Token(); err != nil {
				t.Fatal(err)
			}
		case string:
			note(fmt.Sprintf("%s=%q", path, v))
		case nil:
			note(fmt.Sprintf("%s=%q", path, "null"))
		default:
			note(fmt.Sprintf("%s=%q", path, fmt.Sprint(v)))
		}
	}
	walk("", true)
	return visits
}

// bodies are of the kinds that services send, whole and cut.
var bodies = []string{
	`{
  "error": {
    "code": 429,
    "message": "You exceeded your current quota, please check your plan and billing details.",
    "status": "RESOURCE_EXHAUSTED",
    "details": [
      {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [
          {
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
            "quotaDimensions": {"location": "global", "model": "gemini-2.5-flash"},
            "quotaValue": "250"
          }
        ]
      },
      {"@type": "type.googleapis.com/google.rpc.Help", "links": [{"description": "Learn more about Gemini API quotas", "url": "https://ai.google.dev/gemini-api/docs/rate-limits"}]},
      {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "22s"}
    ]
  }
}`,
	`[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[
		{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[
			{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier","quotaValue":"15"},
			{"quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier","quotaValue":"250000"}]},
		{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.074824224s"}]}}]`,
	`{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED","documentation":"https://shopify.dev/api/usage/rate-limits"}}],
		"extensions":{"cost":{"requestedQueryCost":752,"actualQueryCost":null,"throttleStatus":{"maximumAvailable":1000.0,"currentlyAvailable":666,"restoreRate":50.0}}}}`,
	`{"data":{"shop":{"name":"a \"shop\" {","retry_after":5,"nested":[[[{"type":"x"}]]]}},
		"extensions":{"cost":{"requestedQueryCost":12,"actualQueryCost":8,"throttleStatus":{"maximumAvailable":2000.0,"currentlyAvailable":1992,"restoreRate":100.0}}}}`,
	`{"message":"You are being rate limited.","retry_after":1.25,"global":true,"code":0}`,
	`{"error_summary": "too_many_requests/..", "error": {"reason": {".tag": "too_many_requests"}, "retry_after": 300}}`,
	`{"violated-policies":["hourly"],"type":"https:\/\/iana.org\/assignments\/http-problem-types#temporary-reduced-capacity"}`,
	`{"error":["EAPI:Rate limit exceeded"]}`,
	`{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED","details":[{ "@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED","domain":"googleapis.com","metadata":{ "service":"drive.googleapis.com","quota_metric":"drive.googleapis.com/default","quota_limit":"defaultPerMinutePerProject", "quota_limit_value":"840000","quota_unit":"1/min/{project}","quota_location":"global","consumer":"projects/1"}}]}}`,
	`{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED", "metadata":{"quota_limit":"DefaultRequestsPerMinutePerProject","quota_unit":"1/min/{project}","quota_limit_value":"0"}}]}}`,
	`{"error":{"errors":[{"domain":"usageLimits","reason":"dailyLimitExceeded","message":"Daily Limit Exceeded"}],"code":403}}`,
	`{"error":{"errors":[{"domain":"usageLimits","reason":"userRateLimitExceeded"}],"code":403}}`,
	`{"error":{"errors":[{"domain":"youtube.quota","reason":"quotaExceeded"}],"code":403,"status":"RESOURCE_EXHAUSTED"}}`,
	`{"code":8,"message":"slow","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3s"}]}`,
	`{"message":"You are being rate limited.","retry_after":64.57,"global":false}`,
	`{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 14","parameters":{"retry_after":14}}`,
	`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded", "title":"Request cannot be satisfied as assigned quota has been exceeded","violated-policies":["daily","bandwidth"]}`,
	`{"type":"https://iana.org/assignments/http-problem-types#abnormal-usage-detected","violated-policies":["hourly"]}`,
	`{"type":"https://example.com/probs#quota-exceeded","violated-policies":["hourly"]}`,
	`{"account_id":1,"product_name":"standard-basic","title":"UsageCapExceeded","period":"Monthly","scope":"Product", "detail":"Usage cap exceeded: Monthly product cap","type":"https://api.twitter.com/2/problems/usage-capped"}`,
	`{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
	`{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM)","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
	`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`,
	`{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit"}}`,
	`{"error":{"code":"lock_timeout","message":"This object cannot be accessed right now","type":"invalid_request_error"}}`,
	`{"errors":[{"extensions":{"code":"RATELIMITED"}}]}`,
	`{"status":"error","message":"You have reached your daily limit.","errorType":"RATE_LIMIT","correlationId":"c033cdaa","policyName":"DAILY","requestId":"3d3e35b7"}`,
	`{"__type":"com.amazonaws.kms#ThrottlingException","message":"Rate exceeded"}`,
	`{"retCode":10006,"retMsg":"Too many visits!","result":{}}`,
	`{"ok":false,"error":"ratelimited"}`,
	`{"error_message":"You have exceeded your daily request quota","results":[],"status":"OVER_DAILY_LIMIT"}`,
	`{"items":[1,2,3],"code":"ok","type":"list"}`,
	`{"retry_after":99999999999999999999}`,
	`{"extensions":{"cost":{"throttleStatus":{"maximumAvailable":1000,"currentlyAvailable":0,"restoreRate":0}}}}`,
	`{"errors":[{"extensions":{"code":"THROTTLED"}}],"extensions":{"cost":{"requestedQueryCost":99999999999999999999, "throttleStatus":{"maximumAvailable":1000,"currentlyAvailable":0,"restoreRate":0.000000001}}}}`,
	``, `<html>`, `429 `, `{"retry_after":-1}`, `{"retry_after":1e3}`, `{"retry_after":null}`, `{"retry_after":[5]}`, `{"retry_after":64`,
	`{"error":{"code":"insufficient_quota`,
	`{"error/code":"insufficient_quota","error":{"details/*/retryDelay":"5s"}}`,
	`{"*":{"retry_after":5},"error":{"details":{"*":{"retryDelay":"5s"}}}}`,
	`{"retry\u005fafter":5,"error":{"code":"insufficient\u005fquota"}}`,
	"{\"error\":{\"details\":[{\"violations\":[{\"quotaId\":\"a\\u0000b\",\"quotaValue\":\"5\"}]}]}}",
}

// FuzzScanner compares the scanner with encoding/json where a text is valid, and otherwise
// looks for what makes it panic.
func FuzzScanner(f *testing.F) {
	for _, body := range bodies {
		f.Add(body)
	}
	f.Add(`[[[[[[[[{"a":[{"b":"\ud83d\ude00\ud800"}]}]]]]]]]]`)
	f.Fuzz(func(t *testing.T, text string) {
		got, whole := scanned(text+"\n", 4)
		if !json.Valid([]byte(text)) || !utf8.ValidString(text) || len(text) > maxString {
			return
		}
		if !whole {
			t.Errorf("scanner gives up on %q", text)
		}
		if want := reference(t, text, 4); !slices.Equal(got, want) {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	})
}
