package hazard

import (
	"path"
	"slices"
	"strings"
	"sync"

	"reeve.example/reeve/internal/lazyregexp"
)

// What a program of a language that an expressionReader reads does to files, starts, fetches and sends is
// judged as the line of a shell that would do the same: os.RemoveAll(h + "/Documents") is rm -rf
// ~/Documents. Which call does what stands in a table by the calls' names.

// callEffect is what a call does.
type callEffect uint8

const (
	removesOne  callEffect = iota + 1 // one file, or an empty folder
	removesTree                       // a folder with what lies in it
	movesFile
	copiesFile
	emptiesFile
	listsFolder // what lies in a folder
	walksFolder // what lies in it, however deep
	readsFile
	writesFile
	speaksTo // to an address
	runsWords
	runsText
	runsCode // what it is given is code of its own language
	asksStore
	homeFolder
	documentsFolder
	desktopFolder
	temporaryFolder
	settingsFolder
	newTemporary
	readsVariable
	setsVariable
	everyVariable
	joinsPath
	pushesPath
	isSame
	formatsText
	namesLast
	collectsWords // the words of a command
	startsWords   // it
	callsGiven    // a function that is named by a text, or is given
)

// did is what a call of a name does. of says that it does it to what it is called on, and to nothing else.
type did struct {
	what callEffect
	of   bool
}

// doings is the table. A name with a dot is a name of a module, or a type, and what it has; one that
// begins with a dot may be called on whatever it is; one that ends with = is no call.
var doings = sync.OnceValue(func() map[string][]did {
	m := map[string][]did{}
	for _, row := range []struct {
		what  callEffect
		of    bool
		names string
	}{
		{removesTree, false, `os.removeall fs.remove_dir_all remove_dir_all filesystem.remove_all fs.remove_all remove_all
			.removeitem .trashitem .removeitematpath fs.deletetreeabsolute .deletetree fs.deletetree deletetreeabsolute removedir os.removedir removedirectoryrecursive removepathforcibly removedirrecur
			fileutils.deletedirectory fileutils.forcedelete fileutils.deletequietly moreFiles.deleterecursively filesystemutils.deleterecursively fileutils.cleandirectory fileutils.rm_rf fileutils.rm_r file.rm_rf file.rm_rf! rmtree shutil.rmtree
			delete project.delete .deletedirectory file.deletedirectory io.rmdirrecurse rmdirrecurse os.remove_all removedirall fs.removeall afero.removeall`},
		{removesTree, true, `.deleterecursively .deletedir .deletecontents .cleandirectory`},
		{removesOne, false, `os.remove syscall.unlink syscall.rmdir unix.unlink unix.rmdir unix.unlinkat fs.remove_file fs.remove_dir remove_file remove_dir filesystem.remove std.remove
			files.delete files.deleteifexists file.delete directory.delete fs.deletefile fs.deletefileabsolute deletefileabsolute .deletefile removefile os.removefile removedirectory directory.removedirectory
			unlink rmdir remove wp_delete_file unlink! file.unlink file.rm file.rm! file.rmdir sys.remove unix.unlink fileutils.rm posix.unlink fs.remove storage.delete file.deletefile`},
		{removesOne, true, `.delete .deletesync .deleteonexit .deleteifexists`},
		{movesFile, false, `os.rename syscall.rename unix.rename fs.rename filesystem.rename files.move file.move directory.move rename .moveitem fs.renameabsolute renameabsolute renamedirectory renamefile renamepath movefile movedir
			file.rename file.rename! fileutils.mv fileutils.movedirectory fileutils.movefile sys.rename std.rename`},
		{movesFile, true, `.renameto .rename .renamesync .moveto`},
		{copiesFile, false, `fs.copy filesystem.copy filesystem.copy_file files.copy file.copy .copyitem copyfile copydir copy os.copyfs`},
		{emptiesFile, false, `os.truncate syscall.truncate unix.truncate truncate filesystem.resize_file`},
		{listsFolder, false, `os.readdir ioutil.readdir fs.read_dir read_dir filepath.glob glob glob.glob files.list files.newdirectorystream directory.getfiles directory.getdirectories directory.enumeratefiles directory.getfilesystementries directory.enumeratefilesystementries
			.contentsofdirectory listdirectory getdirectorycontents scandir opendir directoryiterator filesystem.directory_iterator file.ls file.ls! path.wildcard readdir dir.glob dir.children filesystemiterator walkdir`},
		{listsFolder, true, `.listfiles .list .listsync .getfiles .getdirectories .enumeratefiles .eachfile .eachdir .openiterabledir`},
		{walksFolder, false, `filepath.walk filepath.walkdir fs.walkdir walkdir.new files.walk files.find files.walkfiletree filesystem.recursive_directory_iterator .enumerator .subpaths recursivedirectoryiterator walkdirrec recursiveiteratoriterator filetree nftw walkbuilder.new`},
		{walksFolder, true, `.walk .walktopdown .walkbottomup .eachfilerecurse`},
		{readsFile, false, `os.readfile ioutil.readfile os.open fs.read fs.read_to_string read_to_string file.open file.readalltext file.readallbytes file.readalllines file.readlines file.openread files.readstring files.readallbytes files.readalllines files.lines files.newinputstream files.newbufferedreader
			fileinputstream filereader file_get_contents fopen file readfile readlines read file.read file.read! io.readfile scanner string.contentsoffile .contents data.contentsof string.contentsof open bytestring.readfile filehandle.init bufferedreader`},
		{readsFile, true, `.readtext .readbytes .readlines .readasstring .readasstringsync .readasbytes .readasbytessync .readaslines .readaslinessync .inputstream .bufferedreader .text=`},
		{writesFile, false, `os.writefile ioutil.writefile os.create os.openfile fs.write file.create file.writealltext file.writeallbytes files.write files.writestring files.copy file_put_contents fwrite fputs io.copy io.copy_to_output io.writestring writefile files.newoutputstream fileoutputstream filewriter file.write file.write! createfile copy io.copybuffer`},
		{writesFile, true, `.writetext .writebytes .writeasstring .writeasstringsync .writeasbytes .writeasbytessync .write .write_all .writestring .transferfrom .copyto .copytoasync .readfrom`},
		{speaksTo, false, `http.get http.post http.postform http.newrequest http.newrequestwithcontext http.head .get .post .postform .put .patch .do reqwest.get .postasync .getasync .putasync .getstringasync .getbytearrayasync .getstreamasync .sendasync .send .send_string .send_bytes .send_json .body .json .form .call .write .write_all .writestring .write_str .writeall .writebytes .writeasync .print .println .sendto .sendbody .openstream .openconnection .readtext .readbytes
			net.dial tls.dial net.dialtimeout tcpstream.connect udpsocket.send tcpclient socket io.copy io.writestring fmt.fprint fmt.fprintf fmt.fprintln file_get_contents file fopen readfile fwrite fputs fsockopen stream_socket_client curl_init curl_setopt curl_setopt_array curl_exec socket_write socket_send mail copy .downloadfile .downloadfiletaskasync .uploadstring .uploaddata .uploadfile .uploadvalues .downloadstring
			urlsession.shared.datatask .datatask .uploadtask .data ureq.get ureq.post url uri.create httprequest.newbuilder .uri urlrequest httppost httpget http.read .request httpclient.fetch newhttpclient simplehttp httppost! httpoison.post httpoison.post! req.post req.post! .posturl`},
		{runsWords, false, `exec.command exec.commandcontext process.run process.runsync process.start processbuilder readprocess callprocess rawsystem execprocess startprocess proc_open os.startprocess syscall.exec unix.exec .exec pcntl_exec system.cmd child.init child.run process.child.run runtime.exec exec`},
		{runsText, false, `system exec shell_exec passthru popen proc_open callcommand shell execshellcmd execcmd execcmdex sys.command os.execute os.cmd unix.system wordexp std.system`},
		{runsText, true, `.execute`},
		{runsCode, false, `eval assert include include_once require require_once create_function`},
		{collectsWords, false, `command.new .arg .args`},
		{startsWords, true, `.spawn .output .status .exec`},
		{asksStore, false, `.exec .execcontext .mustexec .query .queryrow .querycontext .execute .executeupdate .executequery .executenonquery .raw .execute_unprepared .batch_execute .simple_query .execsql .rawquery sqlx.query sql_query .createstatement .preparestatement .statement .unprepared db.statement db.unprepared`},
		{homeFolder, false, `os.userhomedir homedir.dir home_dir dirs.home_dir env.home_dir home.home_dir nshomedirectory gethomedir gethomedirectory .homedirectoryforcurrentuser= url.homedirectory= url.userdirectory= .homedir= os.homedir= path.home dir.home homedir system.user_home system.user_home! specialfolder.userprofile= specialfolder.personal= userdirs.home_dir basedirs.home_dir .home_dir xdg.home= glib.get_home_dir get_home_dir`},
		{documentsFolder, false, `specialfolder.mydocuments= .documentdirectory= url.documentsdirectory= dirs.document_dir document_dir`},
		{desktopFolder, false, `specialfolder.desktop= specialfolder.desktopdirectory= .desktopdirectory= url.desktopdirectory= dirs.desktop_dir desktop_dir`},
		{settingsFolder, false, `os.userconfigdir dirs.config_dir config_dir specialfolder.applicationdata= getconfigdir .applicationsupportdirectory=`},
		{temporaryFolder, false, `os.tempdir env.temp_dir temp_dir gettempdir path.gettemppath sys_get_temp_dir nstemporarydirectory .temporarydirectory= directory.systemtemp= gettemporarydirectory dir.tmpdir system.tmp_dir system.tmp_dir! filesystem.temp_directory_path temp_directory_path`},
		{newTemporary, false, `.tempdir os.mkdirtemp os.createtemp ioutil.tempdir ioutil.tempfile tempfile.tempdir tempdir tempdir.new tempfile.new namedtempfile.new builder.new files.createtempdirectory files.createtempfile createtempdirectory createtempfile createtempdir file.createtempfile path.gettempfilename path.getrandomfilename directory.createtempsubdirectory tempnam tmpfile mkdtemp mktemp mktempdir mkstemp dir.mktmpdir .createtemp .createtempsync withsystemtempdirectory withtempdirectory std.testing.tmpdir testing.tmpdir gentempfile gentemppath`},
		{readsVariable, false, `os.getenv os.lookupenv env.var env.var_os getenv system.getenv environment.getenvironmentvariable platform.environment. system.get_env system.fetch_env! system.getproperty env. env.fetch env.get _server. _env. posix.getenv process.getenvvarowned .getenvvarowned lookupenv getenvironment .environment. sys.getenv get_env env.getorelse sys.env. sys.env secure_getenv std.getenv syscall.getenv option_env env`},
		{setsVariable, false, `.setenv os.setenv env.set_var setenv putenv environment.setenvironmentvariable`},
		{everyVariable, false, `os.environ env.vars syscall.environ environment.getenvironmentvariables getenvironment platform.environment= processinfo.processinfo.environment= _env=`},
		{joinsPath, false, `filepath.join path.join path.of paths.get path.combine pathlib.join file.join joinpath fs.path.join path.child fs.joinpath url.joinpath joinpaths`},
		{joinsPath, true, `.join .resolve .appendingpathcomponent .appending .child .joinpath .resolvesibling .dir .file .joinpaths`},
		{pushesPath, true, `.push .append .appendpathcomponent .add .extend`},
		{isSame, false, `file path url uri pathbuf.from pathbuf.new path.new path.from osstring.from string.from string.new string byte filepath.clean filepath.abs filepath.toslash filepath.fromslash filepath.evalsymlinks path.clean path.fullname path.getfullpath file.expand_path path.expand directory directoryinfo fileinfo link java.io.file io.file uri.file uri.parse url.parse url.fileurlwithpath nsurl.fileurlwithpath strings.newreader bytes.newreader bytes.newbuffer bytes.newbufferstring strings.trimspace os.expandenv realpath rtrim trim strval array_map cstring.new
			os.dirfs os.openroot fs.path.new url.init environment.getfolderpath objects.requirenonnull optional.of some ok just pure uri.create std.path filesystem.path fs.path std.string std.string_view layout.projectdirectory absolutepath expandtilde normalizepath canonicalizepath makeabsolute .urls array vec list.of arrays.aslist listof arrayof mutablelistof setof seq list array.new files.newdirectory rsync io.readall ioutil.readall stream_get_contents splfileinfo unpackagedpath`},
		{isSame, true, `.unwrap .expect .unwrap_or_default .unwrap_or .unwrap_or_else .ok .to_string .to_str .to_owned .to_path_buf .into .into_os_string .into_string .as_str .as_path .as_ref .as_os_str .to_string_lossy .clone .tostring .topath .tofile .touri .tourl .path .getpath .getpathname .getrealpath .absolutepath .getabsolutepath .absolutefile .toabsolutepath .normalize .trim .display .borrow .string .c_str .cstr .value .get .orelse .orelsethrow .first .firstorerror .canonicalize .canonicalfile .getcanonicalpath .uri .tourl .path= .absolutepath= .fullname= .absolutestring= .relativepath= .absolute= .canonicalpath= .uri= .value= .usingrelativepath .getfile .asfile .asfile= .get= .parse .first= .context .map_err .with_context .absolute .native .u8string .tolist .toarray .iter .into_iter .iterator .aspath .usepath .filter .sorted .sortedwith .sortedby .reversed .sort .flatten .filter_map .map .stream .parallel .max_depth .contents_first .min_depth .asreversed .collect .toset .enumerated .tocstring .standardized .standardizedfileurl= .expandingtildeinpath= .compact .asiterable .pathname= .pathname .entries= .files=`},
		{formatsText, false, `fmt.sprintf format string.format sprintf fmt.fprintf std.format fmt.allocprint std.fmt.allocprint str.format .formatted strutils.format fmt.bufprint`},
		{namesLast, false, `filepath.base path.base basename path.getfilename path.basename extractfilename`},
		{namesLast, true, `.name .name= .file_name .filename .filename= .getname .getfilename .lastpathcomponent= .basename .basename= .name()`},
		{callsGiven, false, `array_map array_walk call_user_func call_user_func_array array_filter iterator_apply`},
		{callsGiven, true, `.foreach .for_each .each .map .tolist`},
	} {
		for name := range set(lower(row.names)) {
			m[name] = append(m[name], did{row.what, row.of})
		}
	}
	return m
})

// doingsOf are what a call of a name does, by as much of the end of its name as the table knows.
func doingsOf(name string) []did {
	if known := doings()[name]; known != nil || !strings.Contains(name, ".") {
		return known
	}
	ending := ""
	if last := name[len(name)-1]; last == '.' || last == '=' {
		name, ending = name[:len(name)-1], string(last)
	}
	at := len(name)
	for n := range 3 {
		if at = strings.LastIndexByte(name[:at], '.'); at < 0 {
			break
		}
		end := name[at+1:] + ending
		if known := doings()[end]; known != nil && (n > 0 || ending == "." || len(end) > 8 && (known[0].what == removesTree || known[0].what == homeFolder)) {
			return known
		}
	}
	if at = strings.LastIndexByte(name, '.'); ending == "" {
		return doings()[name[at:]]
	}
	return doings()["."+name[at+1:]+ending]
}

// What the words of a program may come to: of most programs nothing, and they need not be read.
const (
	mayDo    = 1 << iota // something to files, or start something
	maySpeak             // which matters where it
	mayRead              // files or variables
	mayAsk               // a store, which matters with a statement that loses tables
)

// doingWords are the last words of the names in doings, and what they may come to.
var doingWords = sync.OnceValue(func() map[string]uint8 {
	m := map[string]uint8{}
	for name, all := range doings() {
		name = strings.TrimRight(name, ".=!()")
		for _, does := range all {
			may := uint8(0)
			switch does.what {
			case removesOne, removesTree, movesFile, copiesFile, emptiesFile, runsWords, startsWords, runsText, runsCode, callsGiven:
				may = mayDo
			case speaksTo:
				may = maySpeak
			case readsFile, readsVariable, everyVariable:
				may = mayRead
			case asksStore:
				may = mayAsk
			}
			m[name[strings.LastIndexByte(name, '.')+1:]] |= may
		}
	}
	return m
})

// namesDoings is a quick look at whether a program names calls that are judged.
func namesDoings(text string) bool {
	may, loses := uint8(0), false
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r < 0x80 && !isWordByte(byte(r)) }) {
		var low [48]byte
		if len(word) > len(low) {
			continue
		}
		for i := range len(word) {
			low[i] = word[i]
			if 'A' <= word[i] && word[i] <= 'Z' {
				low[i] |= 0x20
			}
		}
		name := low[:len(word)]
		may |= doingWords()[string(name)]
		loses = loses || string(name) == "drop" || string(name) == "truncate" || string(name) == "delete"
		if may&mayDo != 0 || may&maySpeak != 0 && may&mayRead != 0 || may&mayAsk != 0 && loses {
			return true
		}
	}
	return false
}

// A doer judges what a program does, call by call.
type doer struct {
	*assessor
	reader  *expressionReader
	spot    span
	end     string            // of the names of the language's files
	spoke   string            // the address that was spoken to last
	fetched map[string]string // what was fetched into which file
	told    map[string]bool   // lines that were judged
	store   bool              // the program keeps a store for itself alone
}

// programDoes judges what the calls of a program do.
func (a *assessor) programDoes(end, text string, at span) {
	if end == ".tcl" || end == ".exp" {
		a.tclDoes(text, at)
		return
	}
	form, known := writtenAs(end)
	if !known || !a.spend(len(text)) || !form.dots && !namesDoings(text) { // PHP puts names of functions together
		return
	}
	d := &doer{assessor: a, spot: at, end: end, fetched: map[string]string{}, told: map[string]bool{}}
	low := lower(text)
	// What a program, or a test, makes for itself it may drop.
	d.store = strings.Contains(low, "create table") || strings.Contains(low, "create schema") || strings.Contains(low, "create database") || strings.Contains(low, "testing.") || strings.Contains(low, "@test") || strings.Contains(low, "#[test]") || strings.Contains(low, ":memory:") || strings.Contains(low, "mode=memory") || strings.Contains(low, "sqlmock") || strings.Contains(low, "testcontainers") || strings.Contains(low, "jdbc:h2:")
	d.reader = &expressionReader{text: text[:min(len(text), maxProgram)], form: form, called: d.called}
	d.reader.read()
}

// tclDoes judges what a script of Tcl does to files. Its words are a shell's, but for the brackets.
func (a *assessor) tclDoes(text string, at span) {
	var script strings.Builder
	for line := range strings.Lines(text[:min(len(text), maxProgram)]) {
		for command := range strings.SplitSeq(tclPlaces.Replace(line), ";") {
			command = strings.Trim(tclJoins.ReplaceAllStringFunc(command, func(join string) string {
				return strings.Join(strings.Fields(strings.Trim(join, "[]"))[2:], "/")
			}), " \t\r\n{}")
			if m := tclSets.FindStringSubmatch(command); m != nil {
				script.WriteString(m[1] + "=" + strings.TrimSpace(m[2]) + "\n")
			} else if m := tclFiles.FindStringSubmatch(command); m != nil {
				script.WriteString(map[string]string{"delete": "rm -rf ", "rename": "mv ", "copy": "cp -r "}[m[1]] + strings.NewReplacer("-force ", "", "{", "", "}", "", "-- ", "").Replace(m[2]) + "\n")
			}
		}
	}
	if script.Len() > 0 {
		a.kept(1, asksFrom, func() { a.command("set -u\n"+script.String(), &at) }) // of what is not set, nothing is done
	}
}

var (
	tclPlaces = strings.NewReplacer("$::env(HOME)", "$HOME", "$env(HOME)", "$HOME", "[file home]", "$HOME")
	tclJoins  = lazyregexp.New(`\[file join [^\[\]]*\]`)
	tclSets   = lazyregexp.New(`^set (\w+) ([^\[\]]+)$`)
	tclFiles  = lazyregexp.New(`(?:^|[\s{])file (delete|rename|copy) ([^\[\]]+)`)
)

// does judges a line of a shell that does what the program does.
func (d *doer) does(floor float64, line string) {
	if !d.reader.learnt || len(line) > maxPathText || strings.ContainsAny(line, "\n\x00") || d.told[line] || len(d.told) >= maxDone {
		return
	}
	d.told[line] = true
	d.kept(1, floor, func() { d.line(line, d.spot) })
}

// maxDone is how many lines of one program are judged.
const maxDone = 64

// called is what a call does and gives.
func (d *doer) called(name string, on said, words []said) (gives said, known bool) {
	gives = on.self()
	for _, w := range words {
		gives = gives.with(w)
	}
	gives.texts, gives.items = nil, nil
	property := strings.HasSuffix(name, "=")
	for _, does := range doingsOf(name) {
		subject := on.self()
		if !does.of {
			if len(words) > 0 {
				subject = words[0].self()
			}
		} else if len(subject.texts) == 0 && len(subject.items) == 0 {
			continue
		}
		if v, is := d.did(does, name, subject, on.self(), words, gives); is && !known {
			gives, known = v, true
		}
	}
	if property && !known {
		return said{}, false
	}
	return gives, known
}

// did judges one thing that a call does, and tells what it gives where that is known.
func (d *doer) did(does did, name string, subject, on said, words []said, gives said) (said, bool) {
	rest := words // what it is given besides what it does it to
	if !does.of && len(rest) > 0 {
		rest = rest[1:]
	}
	if name == "file" && (d.end == ".php") != (does.what == readsFile || does.what == speaksTo) || name == "delete" && !listed(".gradle .kts .groovy", d.end) {
		return said{}, false // which other languages have for something else
	}
	switch does.what {
	case removesOne, removesTree:
		all := does.what == removesTree || slices.ContainsFunc(words, func(w said) bool { return w.name == "recursive" || w.name == "true" })
		if strings.HasSuffix(name, "delete") && !does.of && len(words) > 1 && all {
			for _, w := range words[1:] {
				d.removed(w, true)
			}
		}
		d.removed(subject, all)
		return said{}, true
	case movesFile, copiesFile:
		to := said{texts: []string{unknownPart}}
		if len(rest) > 0 && len(rest[0].texts) > 0 {
			to = rest[0]
		}
		line := "mv "
		if does.what == copiesFile {
			line = "cp -r "
		}
		for _, from := range subject.texts {
			if isPathText(from) {
				d.does(asksFrom, line+shellPath(from)+" "+shellPath(to.texts[0]))
			}
		}
		return said{}, true
	case emptiesFile:
		for _, p := range subject.texts {
			if isPathText(p) {
				d.does(asksFrom, "truncate -s 0 "+shellPath(p))
			}
		}
		return said{}, true
	case listsFolder, walksFolder:
		subject = subject.element().inside(true)
		for _, w := range rest { // a function by its name
			d.applied(w, subject)
		}
		return subject, true
	case readsFile:
		if len(subject.texts) == 0 || isAddress(subject.texts[0]) {
			return said{}, false
		}
		out := gives
		for _, p := range subject.texts {
			if isPathText(p) && len(out.read) < maxTexts {
				out.read = append(slices.Clip(out.read), p)
			}
		}
		return out, true
	case writesFile:
		for _, w := range words {
			for _, from := range w.from {
				for _, p := range append(on.texts, subject.texts...) {
					if isPathText(p) && !isAddress(p) && len(d.fetched) < maxDone {
						d.fetched[p] = from
					}
				}
			}
		}
		if len(subject.texts) > 0 && !isAddress(subject.texts[0]) && !does.of {
			return said{texts: subject.texts}, true
		}
	case speaksTo:
		return d.spoken(on, words, gives)
	case runsWords, startsWords:
		argv := flattened(words)
		if does.what == startsWords {
			argv = on.items
		}
		if len(argv) == 0 || len(argv[0].texts) > 0 && isSQL(argv[0].texts[0]) {
			return said{}, false
		}
		if len(words) == 1 && len(argv) == 1 && len(argv[0].texts) > 0 && strings.Contains(argv[0].texts[0], " ") {
			d.does(graveInside, strings.ReplaceAll(argv[0].texts[0], unknownPart, "$UNKNOWN"))
			return said{}, true
		}
		d.run(argv)
		return said{items: argv, from: gives.from}, true
	case collectsWords:
		return said{items: append(slices.Clip(on.items), flattened(words)...), texts: on.texts}, true
	case runsText:
		for _, t := range subject.texts {
			if known := strings.ReplaceAll(t, unknownPart, "$UNKNOWN"); strings.TrimSpace(t) != unknownPart {
				d.does(asksFrom, known)
			}
		}
		for _, from := range subject.from {
			d.does(asksFrom, "curl -fsS "+shellPath(from)+" | sh")
		}
	case runsCode:
		for _, from := range append(subject.from, subject.texts...) {
			if isURL(from) && hostOf(from).kind() != "loopback" {
				d.does(asksFrom, "curl -fsS "+shellPath(from)+" | sh")
			}
		}
		return said{}, false
	case asksStore:
		for _, w := range words[:min(len(words), 3)] {
			for _, t := range w.texts {
				if losesTables.MatchString(t) && !d.store && d.reader.learnt {
					d.kept(1, asksFrom, func() { d.sql(strings.ReplaceAll(t, unknownPart, "x"), d.spot) })
				}
			}
		}
	default:
		return d.valueOf(does, name, subject, on, words, gives)
	}
	return said{}, false
}

// valueOf tells what a call gives that does nothing by itself: folders, variables, paths and texts.
func (d *doer) valueOf(does did, name string, subject, on said, words []said, gives said) (said, bool) {
	switch does.what {
	case homeFolder:
		return d.home(""), true
	case documentsFolder:
		return d.home("/Documents"), true
	case desktopFolder:
		return d.home("/Desktop"), true
	case settingsFolder:
		return d.home("/.config"), true
	case temporaryFolder:
		return sayOf("/tmp"), true
	case newTemporary:
		return sayOf("/tmp/" + NewName), true
	case readsVariable:
		if len(words) == 0 {
			return said{read: []string{"."}}, true
		}
		for _, w := range words {
			if len(w.texts) > 0 {
				switch v := w.texts[0]; v {
				case "HOME", "USERPROFILE", "user.home":
					return d.home(""), true
				case "TMPDIR", "TEMP", "TMP", "java.io.tmpdir":
					return sayOf("/tmp"), true
				}
			}
		}
		return said{}, true
	case setsVariable:
		if len(words) > 1 && slices.ContainsFunc(words[0].texts, func(v string) bool { return v == "HOME" || v == "USERPROFILE" }) {
			d.reader.set("\x00home", words[1].add(sayOf(""), ""))
		}
		return said{}, true
	case everyVariable:
		return said{read: []string{"."}}, true
	case joinsPath:
		parts := words
		if does.of {
			parts = append([]said{subject}, words...)
		} else if d.end == ".zig" && len(parts) > 1 { // who gives it room stands first
			parts = parts[1:]
		}
		if len(on.items) > 0 && len(words) == 1 && len(on.texts) == 0 { // ["a", "b"].join("/")
			v := on.items[0]
			for _, item := range on.items[1:] {
				v = v.add(words[0], "").add(item, "")
			}
			return v.self(), true
		}
		return joined(parts), true
	case pushesPath:
		return joined(append([]said{subject}, words...)), true
	case isSame:
		if !does.of && len(words) > 1 && listed("file java.io.file io.file uri url path.new", name) {
			return joined(words), true
		}
		if len(words) > 1 && !does.of && len(subject.texts) == 0 || len(words) > 1 && listed("array list.of arrays.aslist listof arrayof mutablelistof setof seq list", name) {
			return said{items: words}.with(gives), true
		}
		if len(words) == 1 && does.of && on.below { // of a function: Path::toFile
			d.applied(words[0], on)
		}
		v := subject
		if does.of && listed(".unwrap_or .orelse .unwrap_or_else", name[strings.LastIndexByte(name, '.'):]) {
			for _, w := range words {
				v = v.or(w)
			}
		}
		return v, true
	case formatsText:
		return d.formatted(on, words), true
	case namesLast:
		v := subject
		v.texts = nil
		for _, t := range subject.texts {
			v.texts = append(v.texts, path.Base(t))
		}
		return v, true
	case callsGiven:
		for i, w := range words {
			over := on
			if !does.of && i < 2 && len(words) > 1 {
				over = words[1-i]
			}
			d.applied(w, over.element())
		}
		if does.of {
			return on, true
		}
	}
	return said{}, false
}

// applied judges that a function which a value names is called on what another one is.
func (d *doer) applied(f, on said) {
	name := f.name
	if name == "" && len(f.texts) == 1 && isName(f.texts[0]) {
		name = lower(f.texts[0])
	}
	if name == "" || name[0] == 0 {
		return
	}
	for _, does := range doingsOf(name) {
		if does.what == removesOne || does.what == removesTree {
			d.removed(on, does.what == removesTree)
		}
	}
}

// home is a folder below the home folder, if that is the one of who runs the program.
func (d *doer) home(below string) said {
	if v, set := d.reader.vars["\x00home"]; set {
		return v.add(sayOf(below), "").self()
	}
	return sayOf("~" + below)
}

// removed judges that files are removed.
func (d *doer) removed(v said, all bool) {
	if len(v.items) > 0 && len(v.texts) == 0 {
		v = v.element()
	}
	for _, p := range v.texts {
		if !isPathText(p) {
			continue
		}
		line := "rm -f "
		if all || v.below {
			line = "rm -rf "
		}
		if dir, below := strings.CutSuffix(p, "/*"); v.below && below {
			p = strings.TrimRight(dir, "*/") // what lies in it, or some of that: as find does it
			if p == "" || p[0] != '/' && p[0] != '~' && !strings.HasPrefix(p, "..") {
				continue
			}
			d.does(asksFrom, "find "+shellPath(p)+" -type f -delete")
			continue
		}
		d.does(asksFrom, line+shellPath(p))
	}
}

// spoken judges that something is sent, and tells whose answer the call gives.
func (d *doer) spoken(on said, words []said, gives said) (said, bool) {
	to := ""
	for _, v := range append(slices.Clone(words), on) {
		for _, t := range append(slices.Clone(v.texts), v.from...) {
			if to == "" && isAddress(t) {
				to = t
			}
		}
	}
	if to == "" && len(on.texts) == 0 {
		to = d.spoke
	}
	if to == "" || isURL(to) && hostOf(to).kind() == "loopback" || strings.HasPrefix(to, "localhost") || strings.HasPrefix(to, "127.") {
		return said{}, false
	}
	d.spoke = to
	url := to
	if !isURL(to) {
		url = "https://" + to
	}
	url = strings.SplitN(url, unknownPart, 2)[0]
	var sent said
	for _, w := range words {
		sent = sent.with(w)
	}
	for _, file := range sent.read {
		if given := "$(cat " + shellPath(file) + ")"; file == "." {
			d.does(asksFrom, "curl -d \"$(env)\" "+shellPath(url))
		} else {
			d.does(asksFrom, "curl -d \""+given+"\" "+shellPath(url))
		}
	}
	return said{from: []string{url}, texts: on.texts}, true
}

// run judges that a program is started with its words.
func (d *doer) run(argv []said) {
	words := make([]string, 0, len(argv))
	for _, w := range argv {
		switch {
		case len(w.texts) > 0 && !strings.HasPrefix(w.texts[0], unknownPart):
			words = append(words, shellPath(w.texts[0]))
		case len(w.from) > 0:
			words = append(words, "\"$(curl -fsS "+shellPath(w.from[0])+")\"")
		case len(w.read) > 0 && w.read[0] != ".":
			words = append(words, "\"$(cat "+shellPath(w.read[0])+")\"")
		case len(words) == 0:
			return // nobody knows what
		}
	}
	if len(words) == 0 || strings.HasPrefix(words[0], `"$`) || strings.HasPrefix(words[0], unknownPart) {
		return
	}
	line := strings.Join(words, " ")
	if from := d.fetched[argv[0].texts[0]]; from != "" {
		line = "curl -fsS " + shellPath(from) + " -o " + words[0] + " && chmod +x " + words[0] + " && " + line
	}
	d.does(graveInside, line)
}

// losesTables begins a statement by which a store loses what it has.
var losesTables = lazyregexp.New(`(?i)^[\s(]*(?:drop|truncate|delete)\s`)

// flattened are the words of a command, which may be given as a list.
func flattened(words []said) (flat []said) {
	for _, w := range words {
		if len(w.items) > 0 {
			flat = append(flat, w.items...)
		} else if len(w.texts) > 0 || len(w.from) > 0 || len(w.read) > 0 || len(flat) > 0 {
			flat = append(flat, w)
		}
	}
	return flat[:min(len(flat), maxListed)]
}

// isAddress reports whether a text is an address on the network.
func isAddress(t string) bool {
	t = strings.SplitN(t, unknownPart, 2)[0]
	return isURL(t) || len(t) < 256 && strings.Contains(t, ":") && !strings.HasPrefix(t, "/") && hasHostForm(t)
}

// isPathText reports whether a text is a path of which it is known where it begins.
func isPathText(t string) bool {
	return t != "" && !strings.HasPrefix(t, unknownPart) && len(t) < 1024 && !strings.ContainsAny(t, "\n\x00") && !isURL(t)
}

// shellPath is a path as a word of a shell; ~ and * keep what they mean.
func shellPath(p string) string {
	var b strings.Builder
	plain := func(c byte) bool {
		return isLetter(c) || c >= '0' && c <= '9' || strings.IndexByte("_./~*-@%+=:,", c) >= 0
	}
	for i := 0; i < len(p); {
		if plain(p[i]) {
			b.WriteByte(p[i])
			i++
			continue
		}
		if p[i] == unknownPart[0] {
			b.WriteString(`"$UNKNOWN"`)
			i++
			continue
		}
		j := i
		for j < len(p) && !plain(p[j]) && p[j] != unknownPart[0] {
			j++
		}
		b.WriteString("'" + strings.ReplaceAll(p[i:j], "'", `'\''`) + "'")
		i = j
	}
	if b.Len() == 0 {
		return "''"
	}
	return b.String()
}

// formatted is a text with what is put into its places: %s, {}, {0}, {name}.
func (d *doer) formatted(on said, words []said) said {
	if len(on.texts) > 0 {
		words = append([]said{on}, words...)
	}
	for len(words) > 1 && len(words[0].texts) == 0 { // where it is written to
		words = words[1:]
	}
	if len(words) == 0 || len(words[0].texts) == 0 {
		return said{}
	}
	rest, v, next := words[0].texts[0], sayOf(""), 1
	for rest != "" {
		i := strings.IndexAny(rest, "%{")
		if i < 0 || i+1 >= len(rest) {
			return v.add(sayOf(rest), "")
		}
		v = v.add(sayOf(rest[:i]), "")
		place := 2
		if rest[i] == '{' {
			if place = strings.IndexByte(rest[i:], '}') + 1; place <= 0 || place > 24 {
				return v.add(sayOf(rest[i:]), "")
			}
			if in, known := d.reader.vars[rest[i+1:i+place-1]]; known {
				v, rest = v.add(in.self(), ""), rest[i+place:]
				continue
			}
		} else if strings.IndexByte("svdq@", rest[i+1]) < 0 {
			v, rest = v.add(sayOf(rest[i:i+1]), ""), rest[i+1:]
			continue
		}
		rest = rest[i+place:]
		if next < len(words) {
			v = v.add(words[next].self(), "")
		} else {
			v = v.add(said{}, "")
		}
		next++
	}
	return v
}
