package kvtest

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

type output struct {
	Got

	unknown bool
}

// model is one key: its state is a text of JSON, or empty. What it says of an operation is written here apart from package
// kv, and on purpose not by calling it.
var model = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, out any) (bool, any) {
		now, do, got := state.(string), input.(Do), out.(output) //nolint:errcheck // Check hands over no others
		next, want, fails := after(now, do)
		switch {
		case got.unknown:
			return true, next
		case do.Op == "get":
			return reads(got.Result) == now, now
		case fails:
			return strings.HasPrefix(got.Fault, "conflict: "), now
		}
		return got.Fault == "" && got.Result == want, next
	},
}

// after returns what an operation makes of a value, and its result.
func after(now string, do Do) (next, result string, fails bool) {
	switch do.Op {
	case "put":
		return do.Value, created(now), false
	case "delete":
		return "", `{"deleted":` + strconv.FormatBool(now != "") + `}`, false
	case "cas":
		if now != do.Expect {
			return now, "", true
		}
		return do.Value, created(now), false
	case "add":
		n := int64(0)
		if now != "" {
			var err error
			if n, err = strconv.ParseInt(now, 10, 64); err != nil {
				return now, "", true
			}
		}
		text := strconv.FormatInt(n+do.By, 10)
		return text, `{"value":` + text + `}`, false
	}
	return now, "", false // get
}

func created(now string) string { return `{"created":` + strconv.FormatBool(now == "") + `}` }

// reads returns the value that an answer to get has. What is no answer is no value of any key.
func reads(answer string) string {
	var got struct {
		Value json.RawMessage
		Found bool
	}
	if json.Unmarshal([]byte(answer), &got) != nil || got.Found != (got.Value != nil) {
		return "no answer: " + answer
	}
	return string(got.Value)
}
