package metric

import (
	"reflect"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// A collector of the Collector that told does not list is counted and never exported.
func TestEveryCollectorIsExported(t *testing.T) {
	t.Parallel()
	c := New([]string{"s"}, nil, nil)
	told := map[uintptr]bool{}
	for _, m := range c.told() {
		told[reflect.ValueOf(m).Pointer()] = true
	}
	exported := reflect.TypeFor[prometheus.Collector]()
	fields := reflect.ValueOf(c).Elem()
	for i := range fields.NumField() {
		field := fields.Type().Field(i)
		if field.Type.Kind() == reflect.Pointer && field.Type.Implements(exported) && !told[fields.Field(i).Pointer()] {
			t.Errorf("told does not list %s", field.Name)
		}
	}
}
