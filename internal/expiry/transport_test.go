package expiry_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/conchhq/conch/internal/expiry"
)

// A connection that is used again and again is made anew in the next minute, so that the server is verified again.
func TestAConnectionEndsWithItsCertificate(t *testing.T) {
	t.Parallel()
	var made atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			made.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	within, _ := server.Client().Transport.(*http.Transport)
	transport := &expiry.Transport{Transport: within}
	client := &http.Client{Transport: transport}
	ask := func() int64 {
		answer, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		return made.Load()
	}
	for range 5 {
		ask()
	}
	before := ask()
	if before > 2 { // a minute may end between two of them
		t.Errorf("six requests made %d connections, want one", before)
	}
	transport.Later()
	if after := ask(); after != before+1 {
		t.Errorf("in the next minute %d connections were made, want one", after-before)
	}
}
