#!/usr/bin/env bash
# create_story.sh KUBECONFIG: a tour of `kubectl create`, every kind that it has, right and with wrong flags, and what the server
# refuses; prints every command with what it said, its exit code, and what then stands. Times, uids and addresses are left out, so
# that two servers' texts can be compared. In a namespace of its own, which stays.
# Left out besides is what ours warns of: kinds that are stored though nothing acts on them here.
set -u
kubeconfig=$1
kubectl_bin=${KUBECTL:?}
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-create-XXXXXX")
trap 'rm -rf "$work"' EXIT
export HOME="$work" KUBECONFIG="$kubeconfig"
space=create-tour

normal() {
  sed -E -e 's/(uid: |"uid":"?|UID:\s+)[0-9a-f-]{36}/\1UID/g' -e 's/resourceVersion: "?[0-9]+"?/resourceVersion: RV/g' \
    -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/TIME/g' -e "s#$work#WORK#g" -e 's/^(  *)(- )?(clusterIP: )?[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$/\1\2\3IP/' \
    -e 's/nodePort: [0-9]+/nodePort: PORT/' -e 's/^([EW])[0-9]{4} [0-9:.]+ +[0-9]+ /\1 /' \
    -e '/^Warning: [A-Za-z]+ is stored, but /d'
}
. "$(dirname "$0")/steps.sh"
# c KIND NAME FLAG...: created, shown, created again, and once more as a dry run of the server.
c() {
  s create "$@"
  s get "${kind:-$1}" "${name:-$2}" -o yaml
  s create "$@"
  s create "$@" --dry-run=server -o name
}

"$kubectl_bin" create namespace "$space" >/dev/null
printf 'a=1\nB=two words\n' >"$work/env"
printf 'plain text\n' >"$work/text"
head -c 48 /dev/zero | tr '\0' '\377' >"$work/bytes"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$work/key" -out "$work/crt" -days 2 -subj /CN=tour 2>/dev/null

c namespace create-tour-two
s create namespace 'Bad_Name'
s create namespace
s delete namespace create-tour-two --wait=false

c configmap one --from-literal=a=1 --from-file="$work/text"
s create configmap env --from-env-file="$work/env"
s create configmap empty
s create configmap bad --from-literal=noequals
s create configmap bad --from-literal='bad key=1'
s create configmap bad --from-literal=a=1 --from-literal=a=2
s create configmap 'Bad_Name' --from-literal=a=1
s create configmap hashed --from-literal=a=1 --append-hash -o name

kind=secret name=plain c secret generic plain --from-literal=a=1 --type=example.com/t
s create secret generic bytes --from-literal=a=1
s create secret generic bad --type=kubernetes.io/basic-auth
s create secret generic auth --type=kubernetes.io/basic-auth --from-literal=username=u
s create secret generic ssh --type=kubernetes.io/ssh-auth --from-literal=x=u
s create secret generic sa --type=kubernetes.io/service-account-token --from-literal=x=u
s create secret generic dj --type=kubernetes.io/dockerconfigjson --from-literal=x=u
s create secret tls tls --cert="$work/crt" --key="$work/key"
s get secret tls -o 'jsonpath={.type}'
s create secret tls tls --cert="$work/crt"
s create secret tls bad --cert="$work/text" --key="$work/key"
s create secret generic badtls --type=kubernetes.io/tls --from-literal=tls.crt=x
s create secret docker-registry reg --docker-server=r.example.com --docker-username=u --docker-password=p --docker-email=e@example.com
s get secret reg -o yaml
s create secret docker-registry reg2 --docker-server=r.example.com
s create secret unknown x

c serviceaccount robot
s create serviceaccount 'Bad_Name'
s create serviceaccount
s create token robot --duration=10s
s create token nobody
s create token robot --bound-object-kind=Deployment --bound-object-name=x
s create token robot --bound-object-kind=Secret --bound-object-name=nobody

c role reader --verb=get,list --resource=pods,deployments.apps --resource-name=x
s create role sub --verb=get --resource=pods/log
s create role bad --verb=get --resource=unknownthings
s create role bad --verb=get
s create role bad --verb=fly --resource=pods
s create role 'a/b' --verb=get --resource=pods
c clusterrole create-tour-reader --verb=get --resource=nodes
s create clusterrole create-tour-urls --verb=get --non-resource-url=/logs/*
s create clusterrole create-tour-bad --verb=get --non-resource-url=logs
s create clusterrole create-tour-bad --verb=create --non-resource-url=/logs
s create clusterrole create-tour-sum --aggregation-rule=a=b
s get clusterrole create-tour-sum -o yaml
s create clusterrole create-tour-bad --aggregation-rule=a=b --verb=get --resource=pods
c rolebinding bind --role=reader --serviceaccount=create-tour:robot --user=u --group=g
s create rolebinding bad --role=reader --clusterrole=view
s create rolebinding bad --serviceaccount=robot --role=reader
s create rolebinding bad
s create rolebinding bad --role=reader --serviceaccount='create-tour:Bad_Name'
c clusterrolebinding create-tour-bind --clusterrole=create-tour-reader --user=u
s create clusterrolebinding create-tour-bad
s create clusterrolebinding create-tour-bad --clusterrole=

c quota cap --hard=pods=100,requests.cpu=10 
s create quota scoped --hard=pods=1 --scopes=BestEffort
s create quota bad --hard=pods=x
s create quota bad --hard=pods
s create quota bad --hard=pods=1.5
s create quota bad --hard=requests.cpu=1 --scopes=BestEffort
s create quota bad --hard=pods=1 --scopes=Fast
s delete quota --all

c priorityclass create-tour-high --value=1000 --description=words --preemption-policy=Never
s create priorityclass create-tour-bad --value=2000000000
s create priorityclass create-tour-bad --value=1 --preemption-policy=Sometimes
s create priorityclass system-mine --value=1
s create priorityclass create-tour-bad --value=x
c poddisruptionbudget budget --selector=app=a --min-available=1
s create poddisruptionbudget both --selector=app=a --min-available=1 --max-unavailable=1
s create poddisruptionbudget bad --min-available=1
s create poddisruptionbudget bad --selector=app=a
s create poddisruptionbudget bad --selector=app=a --min-available=x
s create poddisruptionbudget bad --selector=app=a --max-unavailable=101%
s create poddisruptionbudget bad --selector='app in' --max-unavailable=1

c deployment web --image=example/web:1 --replicas=0 --port=80
s create deployment two --image=example/web:1 --image=example/b@sha256:0000000000000000000000000000000000000000000000000000000000000000 --replicas=0
s create deployment cmd --image=example/web:1 --replicas=0 -- sh -c 'exit 0'
s create deployment bad --image='Bad Image' --replicas=0
s create deployment bad
s create deployment 'Bad_Name' --image=example/web:1
s create deployment bad --image=example/web:1 --replicas=-1
s create deployment bad --image=example/web:1 --port=70000
s create deployment bad --image=a --image=b -- sh
c job once --image=example/job:1
s create job cmd --image=example/job:1 -- sh -c 'exit 0'
s create job bad
s create job bad --from=cronjob/none
s create job 'Bad_Name' --image=example/job:1
c cronjob daily --image=example/job:1 --schedule='0 3 * * *' --restart=Never
s create cronjob bad --image=example/job:1 --schedule=often
s create cronjob bad --image=example/job:1
s create cronjob bad --image=example/job:1 --schedule='0 3 * * *' --restart=Always
s create cronjob bad --image=example/job:1 --schedule='TZ=UTC 0 3 * * *'
s create cronjob this-name-is-much-longer-than-the-fifty-two-characters-it-may-have --image=example/job:1 --schedule='0 3 * * *'
s create job manual --from=cronjob/daily
s get job manual -o 'jsonpath={.metadata.annotations}{.metadata.ownerReferences[0].kind}'

c ingress site --rule='example.com/path*=web:80,tls=cert' --class=c --annotation=a=b
s create ingress default --default-backend=web:http
s create ingress bad --rule='example.com/path*=web'
s create ingress bad
s create ingress bad --rule='Bad_Host/=web:80'
s create ingress bad --rule='example.com/*=web:70000'

kind=service name=inner c service clusterip inner --tcp=80:8080
s create service clusterip headless --clusterip=None
s create service clusterip fixed --clusterip=300.0.0.1 --tcp=80
s create service clusterip bad
s create service clusterip bad --tcp=70000
s create service clusterip bad --tcp=80:x_y
s create service clusterip 'Bad_Name' --tcp=80
s create service externalname out --external-name=example.com --tcp=80
s get service out -o yaml
s create service externalname bad
s create service externalname bad --external-name='Bad_Name'
kind=service name=node c service nodeport node --tcp=80:8080
s create service nodeport bad --tcp=80 --node-port=1
s create service nodeport bad
s create service loadbalancer lb --tcp=80:8080
s get service lb -o yaml
s create service loadbalancer bad
s create service unknown x

s create unknownkind x
s create -f "$work/none.yaml"
s create
s get all,configmaps,ingresses,roles,rolebindings,poddisruptionbudgets,serviceaccounts -o name
for one in clusterrole/create-tour-reader clusterrole/create-tour-urls clusterrole/create-tour-sum clusterrolebinding/create-tour-bind priorityclass/create-tour-high; do
  "$kubectl_bin" delete "$one" >/dev/null
done
