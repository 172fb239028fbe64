package kv

import (
	"strconv"

	"github.com/conchhq/conch/txlog/internal/keyed"
)

// run carries an operation out on a draft, and returns its result in JSON.
func (o op) run(d *keyed.Draft) (result string, err error) {
	before := d.Get(o.key)
	if (o.kind == "cas" || o.kind == "check") && before != o.expect {
		return "", fault{conflict, strconv.Quote(o.key) + " has " + shown(before) + ", and should have " + shown(o.expect)}
	}
	switch o.kind {
	case "put", "cas":
		d.Set(o.key, o.value)
		return `{"created":` + strconv.FormatBool(before == "") + `}`, nil
	case "delete":
		d.Set(o.key, "")
		return `{"deleted":` + strconv.FormatBool(before != "") + `}`, nil
	case "add":
		n, is := integer(before)
		sum := n + o.by
		switch {
		case !is:
			return "", fault{conflict, strconv.Quote(o.key) + " has " + shown(before) + ", and add needs a whole number of 64 bits"}
		case o.by > 0 && sum < n || o.by < 0 && sum > n:
			return "", limit(strconv.Quote(o.key) + " has " + shown(before) + ", and a sum of more than 64 bits is not kept")
		}
		text := strconv.FormatInt(sum, 10)
		d.Set(o.key, string(isJSON)+text)
		return `{"value":` + text + `}`, nil
	}
	return `{}`, nil // check
}
