package node

import "github.com/conchhq/conch/cmd/conch/internal/config"

// made is a section with roles that were read already.
type made struct{ roles []config.Role }

func given(roles ...config.Role) []config.Section { return []config.Section{made{roles}} }

func (made) Table() string                                 { return "made" }
func (made) Keys(*config.Decoder) map[string]config.Setter { return nil }
func (made) Settle(*config.Decoder)                        {}
func (made) Validate(*config.Decoder, config.Config)       {}
func (s made) Roles() []config.Role                        { return s.roles }
