import sys, json, time
import hippo_hpo as hippo
import no_op
with hippo.connect(sys.argv[1]) as client:
    s = client.submit(no_op.study(f"again-{time.time()}", 10, seed=3))
    time.sleep(3)
print(json.dumps({}))
