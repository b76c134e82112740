    -- Whether the network holds the flow back (`HOLDING`, pipeline/composed_answer.py).
    i.kind NOT IN ('not_congested', 'sender_limited', 'unknown')
