package contracts

import _ "embed"

//go:embed openapi.yaml
var openAPI string
