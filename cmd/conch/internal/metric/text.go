package metric

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// pieceOf is about how many bytes are written at once.
const pieceOf = 32 << 10

// writeText writes a family as Prometheus' own library writes what Collect gives it, byte for byte. That library makes, compares, hashes and
// sorts an object for each number, which takes several times as long.
func (f *family) writeText(to io.Writer, r *reading) error {
	n := f.of(r)
	if n == 0 {
		return nil
	}
	text := fmt.Appendf(nil, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, strings.ToLower(f.kind.String()))
	for reason := range max(1, len(f.reasons)) {
		for i := range n {
			if text = f.append(text, r, reason, i); len(text) < pieceOf {
				continue
			}
			if _, err := to.Write(text); err != nil {
				return err
			}
			text = text[:0]
		}
	}
	_, err := to.Write(text)
	return err
}

// append appends the lines of one series.
func (f *family) append(text []byte, r *reading, reason, i int) []byte {
	switch f.kind {
	case dto.MetricType_COUNTER:
		of := &r.counted[i]
		if f.reasons == nil {
			return f.line(text, "", of.scope, "", float64(of.counts[f.at]))
		}
		text = append(append(append(append(text, f.name...), `{reason="`...), f.reasons[reason]...), `",scope="`...)
		text = append(append(text, escaped(of.scope)...), `"} `...)
		return append(appendNumber(text, float64(of.counts[f.at+reason])), '\n')
	case dto.MetricType_HISTOGRAM:
		of := &r.counted[i]
		h, sum := &of.times[f.at], uint64(0)
		for b, le := range bounds {
			sum += h.buckets[b]
			text = f.line(text, "_bucket", of.scope, le, float64(sum))
		}
		text = f.line(text, "_sum", of.scope, "", h.sum)
		return f.line(text, "_count", of.scope, "", float64(sum))
	default:
		of := &r.scopes[i]
		return f.line(text, "", of.scope, "", of.now[f.at])
	}
}

func (f *family) line(text []byte, suffix, scope, le string, v float64) []byte {
	text = append(append(append(text, f.name...), suffix...), `{scope="`...)
	text = append(append(append(append(text, escaped(scope)...), '"'), le...), "} "...)
	return append(appendNumber(text, v), '\n')
}

// bounds are the labels of buckets.
var bounds = func() (all []string) {
	for _, most := range milliseconds {
		all = append(all, fmt.Sprintf(`,le="%v"`, most))
	}
	return append(all, `,le="+Inf"`)
}()

var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func escaped(label string) string {
	if strings.ContainsAny(label, "\\\n\"") {
		return escapes.Replace(label)
	}
	return label
}

// appendNumber appends a number as the format has it. Nearly all are whole ones below a million, which look the same as integers.
func appendNumber(text []byte, v float64) []byte {
	if whole := int64(v); 0 <= v && v < 1e6 && float64(whole) == v {
		return strconv.AppendInt(text, whole, 10)
	}
	return strconv.AppendFloat(text, v, 'g', -1, 64)
}
