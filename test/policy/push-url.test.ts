import t from 'tap'
import { isInternal, readPushUrl } from '#policy/push/url.js'

const read = (text: string): URL | string => {
  const found = readPushUrl(text)
  return 'url' in found ? found.url : found.problem
}

t.test('one reading: the text equals its serialization, but for letter case, a default port and the root path', async t => {
  for (const text of [
    'https://a.test', 'https://a.test/', 'https://a.test?x=1', 'HTTPS://A.Test/Path', 'https://a.test:443/x', 'http://a.test:80', 'http://a.test:8080',
    'https://a.test/%7Euser/%2F?q=%20', 'https://1.2.3.4/', 'https://[2606:4700::1]:8443/x', 'https://xn--bcher-kva.test/', 'https://a.test./',
    'https://a.test/?', 'https://a_b.test/', 'https://a.test/a;b=c,d/@x:y'
  ]) t.ok(read(text) instanceof URL, text)
})

t.test('URLs that parsers read differently are rejected', async t => {
  for (const text of [
    'https://127.1/', 'https://2130706433/', 'https://0x7f000001/', 'https://0177.0.0.1/', 'https://127.0.0.1.:443:/', 'https://①②⑦.0.0.1/',
    'https://a.test\\@evil.test/', 'https:/\\evil.test/', 'https:\\\\evil.test/', 'https:evil.test', 'https:/evil.test', 'https:///evil.test',
    ' https://a.test/', 'https://a.test/ ', 'https://a.\ttest/', 'https://a.test/\n', 'https://a.test/a b', 'https://a.test/../x', 'https://a.test/./x',
    'https://a.test/%2e%2e/x', 'https://a.test/é', 'https://b\u00fccher.test/', 'https://a%2etest/', 'https://[::0:ffff:7f00:1]/',
    'https://a.test:0443/', 'https://a.test:/', 'https://a。test/', 'https://a.test/"x"'
  ]) t.type(read(text), 'string', JSON.stringify(text))
})

t.test('user names, fragments and other schemes are rejected with the reason', async t => {
  for (const text of ['https://u@a.test/', 'https://u:p@a.test/', 'https://:@a.test/', 'https://@a.test/', 'https://a.test@evil.test/']) {
    t.match(read(text), 'user name', text)
  }
  for (const text of ['https://a.test/#x', 'https://a.test#@evil.test/', 'https://a.test/#']) t.match(read(text), 'fragment', text)
  for (const text of ['', 'a.test', '//a.test/', 'ftp://a.test/', 'file:///etc/passwd', 'javascript:1', 'https://', 'https://a b.test/', `https://a.test/${'x'.repeat(5000)}`]) {
    t.match(read(text), 'absolute http or https URL', text.slice(0, 40))
  }
})

t.test('private, local and reserved hosts', async t => {
  const internal = (text: string): boolean => isInternal(new URL(text))
  for (const text of [
    'http://127.0.0.1/', 'http://169.254.169.254/latest/meta-data', 'http://[::1]/', 'http://[::ffff:10.0.0.1]/', 'http://[fd00:ec2::254]/',
    'http://localhost:6379/', 'http://localhost./', 'http://redis/', 'http://metadata.google.internal/', 'http://[64:ff9b::a00:1]/',
    'http://100.100.100.200/', 'http://0.0.0.0/', 'http://0/'
  ]) t.ok(internal(text), text)
  for (const text of ['http://a.test/', 'http://8.8.8.8/', 'http://[2606:4700::1111]/', 'http://local.example/']) t.notOk(internal(text), text)
})
