package sample_test

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/condition/sample"
)

func one(name string, labels ...string) sample.Series {
	s := sample.Series{Name: name}
	for i := 0; i < len(labels); i += 2 {
		s.Labels = append(s.Labels, sample.Label{Name: labels[i], Value: labels[i+1]})
	}
	return s
}

// F9: every value comes back bit by bit, and names travel once for each change of the set and again after forty rows.
func TestBody(t *testing.T) {
	t.Parallel()
	values := []float64{0, 1, -1, 42, 1 << 52, -(1 << 52), 1 << 53, 0.5, math.Pi, math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.MaxFloat64, math.Float64frombits(0x7ff8000000000001)}
	var all []sample.Series
	for i := range values {
		all = append(all, one("conch_x", "scope", fmt.Sprint("s/", i), "state", "é\n"))
	}
	var w sample.Writer
	var r sample.Reader
	set := sample.NewSet(all)
	named := 0
	for n := range 100 {
		body := w.WriteBody(set, values)
		if body[1] == 1 {
			named++
		}
		row, err := r.ReadBody(body)
		if err != nil {
			t.Fatalf("row %d: %v", n, err)
		}
		if !reflect.DeepEqual(row.Set.Series, all) || !slices.EqualFunc(row.Values, values, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
			t.Fatalf("row %d: got %v\nwant %v", n, row, values)
		}
	}
	if named != 3 {
		t.Errorf("the names travelled %d times in 100 rows, want 3", named)
	}
	fewer := sample.NewSet(all[:3])
	body := w.WriteBody(fewer, values[:3])
	if row, err := r.ReadBody(body); err != nil || len(row.Values) != 3 || body[1] != 1 {
		t.Errorf("another set: got %v, %v", row, err)
	}
	if row, err := r.ReadBody(w.WriteBody(fewer, values[:3])); err != nil || len(row.Values) != 3 {
		t.Errorf("the same set without names: got %v, %v", row, err)
	}
	var late sample.Reader
	if _, err := late.ReadBody(w.WriteBody(fewer, values[:3])); !errors.Is(err, sample.ErrNameless) {
		t.Errorf("a reader who comes late: got %v, want ErrNameless", err)
	}
}

// A thousand scopes with six series each take a few kilobytes a row.
func TestSizeOfABody(t *testing.T) {
	t.Parallel()
	set, values := thousand(1000)
	var w sample.Writer
	first := len(w.WriteBody(set, values))
	next := len(w.WriteBody(set, values))
	t.Logf("%d series: %d bytes with names, %d without", len(values), first, next)
	if first > 25_000 || next > 9_000 {
		t.Errorf("%d bytes with names and %d without, want at most 25,000 and 9,000", first, next)
	}
}

// thousand returns what a node with so many scopes tells, of which it leads half.
func thousand(scopes int) (*sample.Set, []float64) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var all []sample.Series
	var values []float64
	add := func(v float64, name string, labels ...string) {
		all, values = append(all, one(name, labels...)), append(values, v)
	}
	for i := range scopes {
		scope := fmt.Sprintf("tenant-%d/billing", i)
		add(float64(i%2), "conch_is_leader", "scope", scope)
		add(0, "conch_leaderless_seconds", "scope", scope)
		add(float64(rnd.IntN(600_000))/1000, "conch_heartbeat_age_ms", "scope", scope)
		add(0, "conch_role_failures_total", "reason", "failed", "scope", scope)
		add(0, "conch_role_failures_total", "reason", "stalled", "scope", scope)
		add(float64(rnd.IntN(3)), "conch_leader_failovers_total", "scope", scope)
	}
	return sample.NewSet(all), values
}

// Bad input: names that Prometheus does not have, labels twice or unsorted, values of a series twice, and texts without end are refused.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", sample.MostText+1)
	many := make([]string, 0, 64)
	for i := range sample.MostLabels + 1 {
		many = append(many, fmt.Sprintf("l%02d", i), "")
	}
	for name, all := range map[string][]sample.Series{
		"no name": {one("")}, "a name with a space": {one("conch x")}, "a name of others' letters": {one("соnch_x")}, "a digit first": {one("1x")}, "a long name": {one(long)},
		"a reserved label": {one("x", "__name__", "y")}, "a label twice": {one("x", "a", "1", "a", "2")}, "unsorted": {one("x", "b", "1", "a", "2")},
		"a label with a dot": {one("x", "a.b", "1")}, "a long value": {one("x", "a", long)}, "no text": {one("x", "a", "\xff")},
		"many labels": {one("x", many...)}, "a series twice": {one("x", "a", "1"), one("y"), one("x", "a", "1")},
	} {
		var w sample.Writer
		var r sample.Reader
		if _, err := r.ReadBody(w.WriteBody(sample.NewSet(all), make([]float64, len(all)))); !errors.Is(err, sample.ErrForeign) {
			t.Errorf("%s: got %v, want ErrForeign", name, err)
		}
	}
	var w sample.Writer
	var r sample.Reader
	if _, err := r.ReadBody(w.WriteBody(sample.NewSet([]sample.Series{one("a:b_1", "l_1", "\u202e<b>")}), []float64{1})); err != nil {
		t.Errorf("a sound name: %v", err)
	}
}

// Bad input: what is cut, too long, of another version, or counts what is not there.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	set, values := thousand(3)
	var w sample.Writer
	good := w.WriteBody(set, values)
	short := w.WriteBody(set, values[:4])
	for name, body := range map[string][]byte{
		"nothing": nil, "a head alone": good[:10], "cut": good[:len(good)-3], "another version": append([]byte{9}, good[1:]...), "an unknown flag": append([]byte{1, 7}, good[2:]...),
		"another set's names": append(append(slices.Clone(good[:2]), 1, 2, 3, 4, 5, 6, 7, 8), good[10:]...),
		"too large":           append(slices.Clone(good), make([]byte, sample.MostBytes)...),
		"too few values":      short,
	} {
		var r sample.Reader
		if _, err := r.ReadBody(good); err != nil {
			t.Fatal(err)
		}
		if row, err := r.ReadBody(body); !errors.Is(err, sample.ErrForeign) {
			t.Errorf("%s: got %d values and %v, want ErrForeign", name, len(row.Values), err)
		}
	}
	var huge bytes.Buffer
	huge.Write([]byte{1, 1})
	_ = binary.Write(&huge, binary.BigEndian, uint64(1))
	huge.Write([]byte{0x01, 0x05, 0x00, 0xfa, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}) // stored: a count of 2^48 series
	if _, err := new(sample.Reader).ReadBody(huge.Bytes()); !errors.Is(err, sample.ErrForeign) {
		t.Errorf("a count without end: got %v, want ErrForeign", err)
	}
}

// Bad input: a body of kilobytes that would be hundreds of megabytes is given up early. It measures what is allocated, so it runs alone.
func TestABombIsNotUnpacked(t *testing.T) { //nolint:paralleltest // see above
	set, values := thousand(3)
	bomb := bytes.NewBuffer(slices.Clone(new(sample.Writer).WriteBody(set, values)[:10]))
	pack, err := flate.NewWriter(bomb, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	for range 256 {
		_, _ = pack.Write(make([]byte, 1<<20))
	}
	_ = pack.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = new(sample.Reader).ReadBody(bomb.Bytes())
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; !errors.Is(err, sample.ErrForeign) || took > 200 || bomb.Len() > sample.MostBytes {
		t.Errorf("%d bytes: got %v after %d MiB, want ErrForeign and 200 at most", bomb.Len(), err, took)
	}
}

// A reader remembers a few sets and not every one that it was told.
func TestReaderForgets(t *testing.T) {
	t.Parallel()
	var r sample.Reader
	first := sample.NewSet([]sample.Series{one("x", "a", "first")})
	var again sample.Writer
	if _, err := r.ReadBody(again.WriteBody(first, []float64{1})); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		var w sample.Writer
		if _, err := r.ReadBody(w.WriteBody(sample.NewSet([]sample.Series{one("x", "a", fmt.Sprint(i))}), []float64{1})); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.ReadBody(again.WriteBody(first, []float64{1})); !errors.Is(err, sample.ErrNameless) {
		t.Errorf("got %v, want ErrNameless: fifty sets were told since", err)
	}
}

// Bad input: no bytes make a reader fail otherwise than by its errors, or give a series that is not sound.
func FuzzBody(f *testing.F) {
	set, values := thousand(2)
	var w sample.Writer
	f.Add(w.WriteBody(set, values))
	f.Add(w.WriteBody(set, values))
	f.Add([]byte{1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, body []byte) {
		var r sample.Reader
		var w sample.Writer
		_, _ = r.ReadBody(w.WriteBody(set, values))
		row, err := r.ReadBody(body)
		if err != nil {
			if !errors.Is(err, sample.ErrForeign) && !errors.Is(err, sample.ErrNameless) {
				t.Fatal(err)
			}
			return
		}
		if len(row.Values) != len(row.Set.Series) {
			t.Fatalf("%d values of %d series", len(row.Values), len(row.Set.Series))
		}
		for _, s := range row.Set.Series {
			if !s.Sound() {
				t.Fatalf("%+v is not sound", s)
			}
		}
		var back sample.Reader
		if again, err := back.ReadBody(new(sample.Writer).WriteBody(row.Set, row.Values)); err != nil || !reflect.DeepEqual(again.Set.Series, row.Set.Series) {
			t.Fatalf("written again it reads as %+v, %v", again, err)
		}
	})
}
