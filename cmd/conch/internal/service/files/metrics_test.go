package files

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/metric"
)

func TestMetrics(t *testing.T) {
	w := httptest.NewRecorder()
	metric.Page(&collector{func() []shelf {
		return []shelf{{Scope: "led", Files: 2, Bytes: 7, Behind: map[string]bool{"n2": true, "n3": false}}, {Scope: "followed"}}
	}}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		`conch_files{scope="led"} 2`, `conch_files_bytes{scope="led"} 7`, `conch_files{scope="followed"} 0`, `conch_files_bytes{scope="followed"} 0`,
		`conch_files_behind{peer="n2",scope="led"} 1`, `conch_files_behind{peer="n3",scope="led"} 0`,
	} {
		if !strings.Contains(w.Body.String(), "\n"+line+"\n") {
			t.Errorf("the page lacks the line %s", line)
		}
	}
	if strings.Contains(w.Body.String(), `scope="followed",peer`) || strings.Contains(w.Body.String(), `peer="",`) {
		t.Error("a follower has conch_files_behind, want it on the leader alone")
	}
}
