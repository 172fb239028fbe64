package condition

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/conchhq/conch/cmd/conch/internal/receiver/annotation"
	"github.com/conchhq/conch/internal/nearest"
	"github.com/conchhq/conch/internal/pattern"
)

var labelUsed = pattern.Of(`(?:\$labels|\.Labels)\.([A-Za-z_]\w*)`)

// CheckAnnotation finds what would keep an annotation from being written, and labels in it that no member has.
func CheckAnnotation(text string, labels []string) error {
	if len(text) > mostText {
		return fmt.Errorf("it has %d bytes: %d are allowed", len(text), mostText)
	}
	if !utf8.ValidString(text) {
		return errors.New("it is no text")
	}
	some := map[string]string{}
	for _, name := range labels {
		some[name] = "some"
	}
	if _, err := annotation.Expand(text, some, 1, time.Unix(0, 0)); err != nil {
		return err
	}
	for _, used := range labelUsed().FindAllStringSubmatch(text, -1) {
		if slices.Contains(labels, used[1]) || slices.Contains(scraped, used[1]) {
			continue
		}
		if one := nearest.To(used[1], labels); one != "" {
			return fmt.Errorf("no member has a label %s: is %s meant?", used[1], one)
		}
		return fmt.Errorf("no member has a label %s", used[1])
	}
	return nil
}
