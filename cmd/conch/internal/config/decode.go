package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"
)

// setter takes the value of one key; place is its full name, for faults.
type setter func(place string, value any)

// decoder moves values into a Config and collects what is wrong with them.
type decoder struct {
	places
	dir    string // relative paths start here
	faults []Fault
	told   []string // keys of [election] that were complained about
}

func (d *decoder) fault(place, format string, args ...any) {
	d.faults = append(d.faults, d.places.fault(place, fmt.Sprintf(format, args...)))
}

// table hands each value to its key's setter; the others are unknown.
func (d *decoder) table(place string, value any, keys map[string]setter) {
	values, ok := value.(map[string]any)
	if !ok {
		d.fault(place, "is a single value, and [%s] is a table", place)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if set := keys[key]; set != nil {
			set(under(place, key), values[key])
			continue
		}
		d.fault(under(place, key), "%s", unknown(key, slices.Sorted(maps.Keys(keys))))
	}
}

func (d *decoder) text(to *string) setter {
	return func(place string, value any) {
		switch v := value.(type) {
		case string:
			*to = v
		case int64, float64, bool:
			d.fault(place, "%v is not a text in quotation marks", value)
		default: // not repeated: a list may hold what was meant, with a password in it
			d.fault(place, "is not one text in quotation marks")
		}
	}
}

// word is a text that says something: an empty one would count as left out.
func (d *decoder) word(to *string) setter {
	return func(place string, value any) {
		d.text(to)(place, value)
		if value == "" {
			d.fault(place, "is empty: say something or leave it out")
		}
	}
}

func (d *decoder) path(to *string) setter {
	return func(place string, value any) {
		d.text(to)(place, value)
		if *to != "" && !filepath.IsAbs(*to) {
			*to = filepath.Join(d.dir, *to)
		}
	}
}

func (d *decoder) flag(to *bool) setter {
	return func(place string, value any) {
		flag, ok := value.(bool)
		if !ok {
			d.fault(place, "%#v is neither true nor false", value)
			return
		}
		*to = flag
	}
}

func (d *decoder) span(to *time.Duration) setter {
	return func(place string, value any) {
		text, ok := value.(string)
		if !ok {
			d.fault(place, `%v has no unit: write "%vs" or "%vms", in quotation marks`, value, value, value)
			return
		}
		span, err := time.ParseDuration(text)
		switch {
		case err != nil:
			d.fault(place, `%q is not a duration such as "500ms", "3s" or "1m"`, text)
		case span <= 0:
			d.fault(place, "%q is not above 0", text)
		default:
			*to = span
		}
	}
}

func (d *decoder) count(to *int) setter {
	return func(place string, value any) {
		n, ok := value.(int64)
		if !ok || n < 0 {
			d.fault(place, "%v is not a whole number, 0 or above", value)
			return
		}
		*to = int(n)
	}
}

func (d *decoder) texts(to *[]string) setter {
	return func(place string, value any) {
		list, ok := value.([]any)
		if !ok {
			d.fault(place, `is not a list such as ["a", "b"]`)
			return
		}
		*to = make([]string, len(list))
		for i, v := range list {
			d.text(&(*to)[i])(fmt.Sprintf("%s[%d]", place, i), v)
		}
	}
}

// command is a list, or a line to be split.
func (d *decoder) command(to *[]string) setter {
	return func(place string, value any) {
		line, ok := value.(string)
		if !ok {
			d.texts(to)(place, value)
			return
		}
		list, err := words(line)
		if err != nil {
			d.fault(place, "%v", err)
		}
		*to = append([]string{}, list...) // not nil: a command without a word is a fault, not none
	}
}
