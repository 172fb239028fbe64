package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/service/roles"
)

// manyRoles is a file with so many roles.
func manyRoles(n int) string {
	var text strings.Builder
	text.WriteString("[database]\nurl = \"postgres://db/app\"\n")
	for i := range n {
		fmt.Fprintf(&text, "[[roles]]\nscope = \"s%d\"\nlease = \"9s\"\n", i)
	}
	return text.String()
}

func BenchmarkManyRoles(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				_, err := configtest.Load(b, manyRoles(n), config.Source{Sections: []func() config.Section{roles.Kind().Section}}, nil)
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(n), "ns/role")
		})
	}
}
