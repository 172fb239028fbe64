package service

import "github.com/conchhq/conch/cmd/conch/internal/service/slots"

// Slots opens the slots of conch cron.
var Slots = slots.Open
