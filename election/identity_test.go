package election_test

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/conchhq/conch/election"
)

// S3: a name has its parts, the host, the process and a random UUID, and no colon, which parts the words of a notification.
func TestIdentity(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(fmt.Sprintf(`^main-0x0a_1-[^:]+-%d-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, os.Getpid()))
	one, other := election.Identity("main", "0x0a:1"), election.Identity("main", "0x0a:1")
	if !form.MatchString(one) || !form.MatchString(other) || one == other {
		t.Errorf("got %q and %q, want two names of the form %v", one, other, form)
	}
}
