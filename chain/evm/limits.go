package evm

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/budget"
)

// tooLarge reports whether an endpoint refused a request for its size, or for the number of its
// calls. Then it has carried out none of them, and a smaller request may be served. An answer that
// is too large is no such error.
func tooLarge(err error) bool {
	if err == nil {
		return false
	}
	if statusOf(err) == http.StatusRequestEntityTooLarge {
		return true
	}
	code, text := wordsOf(err)
	batch := code == codeRequest && strings.Contains(strings.ToLower(text), "batch")
	return batch || match(said().attempts, text) == classTooLarge
}

// answerTooLarge reports whether the answer to a request has too many bytes, for the endpoint or for this
// process. The request may have been carried out, so that only a read may be made smaller for it.
func answerTooLarge(err error) bool {
	if err == nil {
		return false
	}
	if _, large := errors.AsType[*sizeError](err); large {
		return true
	}
	_, text := wordsOf(err)
	return match(said().answers, text) == classAnswerTooLarge
}

// limited reports whether an endpoint refuses calls because there were too many, and how long it wants
// the caller to wait, 0 if it does not say.
func limited(err error) (after time.Duration, ok bool) {
	if err == nil || tooLarge(err) {
		return 0, false
	}
	response, noted := errors.AsType[*responseError](err)
	switch statusOf(err) {
	case http.StatusTooManyRequests, http.StatusPaymentRequired:
		ok = true
	case http.StatusServiceUnavailable:
		ok = noted && response.waits
	}
	if code, text := wordsOf(err); classAttempt(code, text) == classLimit {
		ok = true
	}
	if !ok {
		return 0, false
	}
	if noted && response.waits {
		return response.after, true
	}
	return backoff(err), true
}

// requestVerdicts returns the verdicts on attempts whose request failed as a whole, and on the rest, which
// was not sent. A refusal of a batch says nothing of its calls, unless it is about the size or the
// caller: Infura refuses a batch if one of its calls fails, and the others may have been carried out.
func requestVerdicts(err error, attempts int) (sent, rest chain.Verdict) {
	_, slow := limited(err)
	status := statusOf(err)
	response, noted := errors.AsType[*responseError](err)
	switch {
	case tooLarge(err), status == http.StatusUnauthorized:
		return chain.Refused, chain.Refused
	case attempts > 1:
		return chain.Unknown, chain.Unknown
	case slow, status == http.StatusPaymentRequired, status == http.StatusForbidden:
		return chain.Refused, chain.Refused
	case noted && response.answer:
		return judge(response.code, response.text), chain.Unknown
	}
	return chain.Unknown, chain.Unknown
}

// statusOf returns the HTTP status that refused a request, or 0.
func statusOf(err error) int {
	if status, is := errors.AsType[*statusError](err); is {
		return status.code
	}
	if status, is := errors.AsType[rpc.HTTPError](err); is {
		return status.StatusCode
	}
	if response, is := errors.AsType[*responseError](err); is && response.status >= http.StatusBadRequest {
		return response.status
	}
	return 0
}

// wordsOf returns the code and the text of a node's answer, or of the response that refused a request.
func wordsOf(err error) (code int, text string) {
	if code, text, ok := answered(err); ok {
		return code, text
	}
	if response, is := errors.AsType[*responseError](err); is && response.text != "" {
		return response.code, response.text
	}
	if status, is := errors.AsType[rpc.HTTPError](err); is {
		code, text, _, _ := readError(status.Body)
		return code, text
	}
	return 0, err.Error() // such as the reason for which a WebSocket was closed
}

// retryAfter reads the header Retry-After, which has seconds or a date.
func retryAfter(header string, now time.Time) (time.Duration, bool) {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseFloat(header, 64); err == nil {
		return capped(seconds)
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), budget.Longest), true
	}
	return 0, false
}

// backoff reads how long Infura wants the caller to wait, from the data of its error.
func backoff(err error) time.Duration {
	var raw json.RawMessage
	if response, noted := errors.AsType[*responseError](err); noted {
		raw = response.data
	} else if answer, is := errors.AsType[rpc.DataError](err); is {
		if again, err := json.Marshal(answer.ErrorData()); err == nil {
			raw = again
		}
	}
	var limit struct {
		Rate struct {
			Seconds float64 `json:"backoff_seconds"`
		} `json:"rate"`
	}
	if json.Unmarshal(raw, &limit) != nil {
		return 0
	}
	after, _ := capped(limit.Rate.Seconds)
	return after
}

func capped(seconds float64) (time.Duration, bool) {
	if math.IsNaN(seconds) || seconds < 0 {
		return 0, false
	}
	return time.Duration(min(seconds, budget.Longest.Seconds()) * float64(time.Second)), true
}
