// Package sample is the body of a row in which a node tells the values of some of its series, so that another node can judge those of all
// nodes together: names once for each change of the set, and every tenth minute or so for a reader who comes later, then values alone. A
// thousand scopes with six series each take about 6 kB a row.
//
//	body := writer.WriteBody(set, values)
//	row, err := reader.ReadBody(body)
//
// A role that may write a row of the database may write any bytes, so a reader takes nothing without a limit.
package sample

import "errors"

// The limits of a body. What is larger is refused by the reader, and left out by the writer.
const (
	MostSeries = 100_000  // of a node
	MostLabels = 16       // of a series
	MostText   = 1024     // bytes of a name, or of a label's value
	MostBytes  = 4 << 20  // of a body
	mostInside = 16 << 20 // of a body once it is unpacked
)

// Errors of a reader. The row that has them tells that its node is alive, and nothing else.
var (
	ErrForeign  = errors.New("sample: the body is not what a node of this version writes")
	ErrNameless = errors.New("sample: no row with the names of these values was read yet")
)

// Label is one label of a series.
type Label struct{ Name, Value string }

// Series is what one value is of.
type Series struct {
	Name   string
	Labels []Label // sorted by name
}

// Set is the series of a node, in the order of its values. It is not changed once it is made.
type Set struct {
	Series []Series
	id     uint64
	names  []byte
}

// Row is what a body says.
type Row struct {
	Set    *Set
	Values []float64
}
