# Decides about A2A calls. Input and result have the form of AuthZEN 1.0: docs/reference/authzen-a2a.md.
# OPA serves the result at /v0/data/a2a/answer, without a wrapper.
package a2a

payments := "https://example.com/ext/payments/v1"

amounts := [one.value | some one in input.context.selected; endswith(one.path, "/amount")]

# Everybody may send messages and read tasks.
default denial := ""

# Payments above 1000 need the group `treasury`.
denial := "Payments above 1000 need a member of treasury." if {
	input.context.rule == "payments/amount"
	max(amounts) > 1000
	not "treasury" in object.get(input.subject, ["properties", "groups"], [])
}

# Nobody cancels the tasks of this agent.
denial := "Tasks cannot be cancelled." if input.action.name == "CancelTask"

# The agent does not get bank account numbers.
obligations := [{"type": "custom", "id": "no-iban", "properties": {
	"vendor": "a2a",
	"action": "strip",
	"path": "/message/parts/*/data/iban",
}}] if {
	input.context.phase == "request"
	payments in input.context.extensions.active
} else := []

answer := {"decision": true, "context": {"obligations": obligations}} if denial == ""

answer := {"decision": false, "context": {"reason_user": denial}} if denial != ""
