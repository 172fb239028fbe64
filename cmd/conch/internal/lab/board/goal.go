package board

import (
	"fmt"
	"strings"
)

// ValueBytes is the length of the value that a goal puts.
const ValueBytes = 160

// Goal is a goal as a user has it: one of a thousand flags gets another value.
func Goal(client, n int) []byte {
	return fmt.Appendf(nil, `{"op":"put","key":"flags/%d","value":"%s%08d"}`, (client*31+n)%1000, strings.Repeat("x", ValueBytes-8), n)
}
