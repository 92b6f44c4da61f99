"""A flash sale: thousands of buyers in one moment, few items, never one too many.

`policy` what is declared; `life` the phases of a sale, and until when it may be edited; `forms`
how many order forms a node gives out; `replay` who gets his last answer again; `tickets` what
proves a form, and the quiz; `orders` the queue of writes in bounded batches. All are told the time;
gateways put them together, the control plane makes the secrets at the opening.
"""
