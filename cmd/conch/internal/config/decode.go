package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/conchhq/conch/internal/name"
)

// Setter stores the value of a key. Place is the key's full name, such as roles[1].lease, for
// use in faults.
type Setter func(place string, value any)

// Decoder stores the values of a file and collects faults. It is not for concurrent use.
type Decoder struct {
	origins
	dir    string // relative paths start here
	faults []Fault
	told   []string // keys of [election] that have a fault already
}

// Fault adds a fault of the key at a place.
func (d *Decoder) Fault(place, format string, args ...any) {
	d.faults = append(d.faults, d.fault(place, fmt.Sprintf(format, args...)))
}

// Faulted reports whether a key has a fault already.
func (d *Decoder) Faulted(place string) bool {
	return slices.ContainsFunc(d.faults, func(f Fault) bool { return f.Key == place })
}

// Table passes each value of a table to its key's setter. A key without a setter is a fault.
func (d *Decoder) Table(place string, value any, keys map[string]Setter) {
	values, ok := value.(map[string]any)
	if _, list := value.([]any); list {
		d.Fault(place, "is a list, and there is one: write [%s], in single brackets", place)
		return
	} else if !ok {
		d.Fault(place, "is a single value, and [%s] is a table", place)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if set := keys[key]; set != nil {
			set(Under(place, key), values[key])
			continue
		}
		d.Fault(Under(place, key), "%s", unknown(key, slices.Sorted(maps.Keys(keys))))
	}
}

// Text accepts a text.
func (d *Decoder) Text(to *string) Setter {
	return func(place string, value any) {
		switch v := value.(type) {
		case string:
			*to = v
		case int64, float64, bool:
			d.Fault(place, "%v is not a text in quotation marks", value)
		default: // the fault omits the value: a list may contain a URL with a password
			d.Fault(place, "is not one text in quotation marks")
		}
	}
}

// Word accepts a text that is not empty: an empty one would count as left out.
func (d *Decoder) Word(to *string) Setter {
	return func(place string, value any) {
		d.Text(to)(place, value)
		if value == "" {
			d.Fault(place, "is empty: give a value, or leave the key out")
		}
	}
}

// Name accepts a text that readers can tell from every other one.
func (d *Decoder) Name(to *string) Setter {
	return func(place string, value any) {
		d.Text(to)(place, value)
		if why := name.Fault(*to); why != "" {
			d.Fault(place, "%q %s", *to, why)
		}
	}
}

// Path accepts a path; a relative one starts at the folder of the configuration file.
func (d *Decoder) Path(to *string) Setter {
	return func(place string, value any) {
		d.Text(to)(place, value)
		if *to != "" && !filepath.IsAbs(*to) {
			*to = filepath.Join(d.dir, *to)
		}
	}
}

// Flag accepts true or false.
func (d *Decoder) Flag(to *bool) Setter {
	return func(place string, value any) {
		flag, ok := value.(bool)
		if !ok {
			d.Fault(place, "%#v is neither true nor false", value)
			return
		}
		*to = flag
	}
}

// Span accepts a duration above 0.
func (d *Decoder) Span(to *time.Duration) Setter {
	return func(place string, value any) {
		text, ok := value.(string)
		switch value.(type) {
		case int64, float64:
			d.Fault(place, `%v has no unit: write "%vs" or "%vms", in quotation marks`, value, value, value)
			return
		}
		if !ok {
			text = fmt.Sprint(value)
		}
		span, err := time.ParseDuration(text)
		switch {
		case err != nil:
			d.Fault(place, `%q is not a duration such as "500ms", "3s" or "1m"`, text)
		case span <= 0:
			d.Fault(place, "%q is not above 0", text)
		default:
			*to = span
		}
	}
}

// Count accepts a whole number, 0 or above.
func (d *Decoder) Count(to *int) Setter {
	return func(place string, value any) {
		n, ok := value.(int64)
		if !ok || n < 0 {
			d.Fault(place, "%v is not a whole number, 0 or above", value)
			return
		}
		*to = int(n)
	}
}

// Texts accepts a list of texts.
func (d *Decoder) Texts(to *[]string) Setter { return d.list(to, d.Text) }

// Names accepts a list of what [Decoder.Name] accepts.
func (d *Decoder) Names(to *[]string) Setter { return d.list(to, d.Name) }

func (d *Decoder) list(to *[]string, each func(*string) Setter) Setter {
	return func(place string, value any) {
		list, ok := value.([]any)
		if !ok {
			d.Fault(place, `is not a list such as ["a", "b"]`)
			return
		}
		*to = make([]string, len(list))
		for i, v := range list {
			each(&(*to)[i])(fmt.Sprintf("%s[%d]", place, i), v)
		}
	}
}

// Tables accepts an array of tables, written in double brackets, and returns its elements.
func (d *Decoder) Tables(place string, value any) []any {
	list, ok := value.([]any)
	if !ok {
		d.Fault(place, "is one table: write [[%s]], in double brackets, once for each", place)
	}
	return list
}
