// Package patched leaves rules of the design out, to show what they are for, where no world can: by a patch of the source.
//
// What ships has no switch for a rule. A file of this folder, one for each wing, has the lines that carry a rule and what
// stands there instead, as a diff without line numbers:
//
//	# A leader goes on, whatever it hears and its user says.
//	--- gossip/machine_reign.go
//	-	if s.state == Bystander || s.paper != nil {
//	+	if s.state == Bystander || s.paper != nil || without("step-down") {
//
// Lines that begin with a space are the same in both. A blank line ends a patch. What it replaces must stand in the source once,
// as whole lines, or nothing is built: TestThePatchesFit says so each day.
//
// One build has all patches of all wings. The go command takes them by its flag -overlay, so that no file of the source
// changes, and with them a function for each package that is patched: without reports whether [Env] names that rule. So a
// patched program without the variable does what the plain one does.
package patched
