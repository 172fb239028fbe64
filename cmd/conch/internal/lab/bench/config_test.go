package bench

import (
	"reflect"
	"testing"
	"time"
)

// A measurement of nothing prints zeros.
func TestEachAmountIsSet(t *testing.T) {
	t.Parallel()
	for _, quick := range []bool{true, false} {
		v := reflect.ValueOf(Config{Quick: quick, Lease: time.Second}.amounts())
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("quick %v: %s is 0", quick, v.Type().Field(i).Name)
			}
		}
	}
}
