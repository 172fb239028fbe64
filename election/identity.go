package election

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"github.com/conchhq/conch/fence"
)

// Identity returns a new, unique name for this process: the parts (such as network and account),
// the host, the process number and a random UUID, joined by '-' (requirement S3).
func Identity(parts ...string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	var u fence.Term       // no term, but written as one
	_, _ = rand.Read(u[:]) // never fails since Go 1.24
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	parts = append(parts, host, fmt.Sprint(os.Getpid()), u.String())
	return strings.ReplaceAll(strings.Join(parts, "-"), ":", "_")
}
